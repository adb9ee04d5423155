#!/usr/bin/env bash
# Reports what the files that differ from a base commit do to everything downstream.
#
#   impact.sh BASE GRAPH [OPTION...]
#
# BASE is a commit, GRAPH a lineage_graph.json; further options go to lineage-bridge impact, such as
# --plan plan.json or --fail-on loses_data. Files are changes by their place and name:
#   schemas/SUBJECT.{avsc,proto,json}   flink/STATEMENT.sql   connectors/NAME.json
# It writes impact.md, impact.xml (JUnit) and impact.sarif, and exits as the command does.
set -euo pipefail
base=${1:?"usage: impact.sh BASE GRAPH [OPTION...]"} graph=${2:?"usage: impact.sh BASE GRAPH [OPTION...]"}
shift 2
changes=("$@")
while IFS= read -r -d '' status && IFS= read -r -d '' file; do
  name=$(basename "${file%.*}")
  case $status:$file in
    D:schemas/*) changes+=(--drop "subject:$name") ;;
    D:flink/*.sql) changes+=(--drop "statement:$name") ;;
    D:connectors/*.json) changes+=(--drop "connector:$name") ;;
    *:schemas/*) changes+=(--schema "$file" --subject "$name") ;;
    *:flink/*.sql) changes+=(--statement "$name=$file") ;;
    *:connectors/*.json) changes+=(--connector "$name=$file") ;;
  esac
done < <(git diff --name-status --no-renames -z "$base" -- schemas flink connectors)
if [ ${#changes[@]} = 0 ]; then
  printf '<!-- lineage-bridge-impact -->\n\n### Impact: no schema, statement or connector changes\n' > impact.md
  exit 0
fi
code=0
lineage-bridge impact --graph "$graph" "${changes[@]}" --format markdown -o impact.md || code=$?
# 2: the input could not be read, and there is no report.
[ "$code" != 2 ] || exit 2
lineage-bridge impact --graph "$graph" "${changes[@]}" --format junit -o impact.xml || true
lineage-bridge impact --graph "$graph" "${changes[@]}" --format sarif -o impact.sarif || true
exit "$code"
