"""Tables from outside: opened whole or streamed, checked, and given to the engines."""
