/**
 * How Node runs the program, wherever it does (threats E15): SIGUSR1 opens no inspector, no object reaches its
 * prototype by a field, and no text becomes code. The space of new objects stays at 3 x 2 MiB: it would grow to
 * 3 x 16 MiB, which makes nothing faster here. The Dockerfile and the first line of src/main.ts have the same.
 */
export const NODE_FLAGS = [
  '--disable-sigusr1',
  '--disable-proto=delete',
  '--disallow-code-generation-from-strings',
  '--max-semi-space-size=2',
] as const

/** The variables of the image: glibc gives back what is free. */
export const IMAGE_VARIABLES = { MALLOC_TRIM_THRESHOLD_: '131072' } as const

/** How much of the container's memory limit the heap may take, in percent, as the Dockerfile has it. */
export const HEAP_PERCENTAGE = 75
