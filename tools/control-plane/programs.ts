/** The four upstream programs, in build order; the names are also the names of their files. */
export const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const

/** One of the four upstream programs. */
export type ProgramName = (typeof PROGRAMS)[number]

/** The three of them that run as long as a control plane does. */
export type DaemonName = Exclude<ProgramName, 'kubectl'>

/**
 * The order in which the daemons are stopped. An API server whose etcd goes first hangs for minutes,
 * even when it was told to end at the same moment.
 */
export const STOP_ORDER: readonly DaemonName[] = [
  'kube-controller-manager',
  'kube-apiserver',
  'etcd',
]
