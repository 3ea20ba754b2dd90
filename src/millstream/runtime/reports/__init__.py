"""What a run tells about itself: figures of operators, reports of epochs, and how they are shown."""
