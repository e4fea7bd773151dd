/**
 * How Node runs the program, wherever it does (threats E15): SIGUSR1 opens no inspector, no object reaches its
 * prototype by a field, and no text becomes code. The Dockerfile and the first line of src/main.ts have the same.
 */
export const NODE_FLAGS = [
  '--disable-sigusr1',
  '--disable-proto=delete',
  '--disallow-code-generation-from-strings',
] as const
