"""The choices that the tuner is given for a call, the model of the first one, and what comes of tuning."""
