"""What is secret in a text, a value, a command line or SQL, and how it is masked."""
