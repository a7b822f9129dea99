"""Jobs on the farm, through the `deadline` command."""
