"""Editor features: functions from texts and offsets to frozen results, independent of any protocol."""
