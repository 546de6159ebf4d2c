"""Export and import: files of memories, rules files, agents' notes and skills, other tools' stores."""
