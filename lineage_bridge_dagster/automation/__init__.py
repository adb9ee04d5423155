"""What runs by itself: the sensor that watches Tableflow, jobs and schedules."""
