import type { Gate } from '../../src/kube/controller/work-queue.ts'

/** Lets everything through, always. */
export const OPEN: Gate = {
  admit: () => 'freely',
  probed: () => undefined,
  whenOpen: () => undefined,
}
