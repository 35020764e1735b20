"""What a window holds, as columns: event batches, the summary, and the views with their timelist."""
