import type { Source } from './build.ts'

/** The four upstream programs, in build order; the names are also the names of their files. */
export const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const

/** One of the four upstream programs. */
export type ProgramName = (typeof PROGRAMS)[number]

/** The three of them that run as long as a control plane does. */
export type DaemonName = Exclude<ProgramName, 'kubectl'>

/**
 * The order in which the daemons are stopped. An API server whose etcd goes first hangs for minutes,
 * even when it gets its signal at the same moment.
 */
export const STOP_ORDER: readonly DaemonName[] = [
  'kube-controller-manager',
  'kube-apiserver',
  'etcd',
]

/** Where each program's main package is, and how long its build took on two cores, nothing cached. */
export const SOURCES: Readonly<Record<ProgramName, Source>> = {
  etcd: { pkg: 'go.etcd.io/etcd/server/v3', about: '1 minute' },
  'kube-apiserver': { pkg: 'k8s.io/kubernetes/cmd/kube-apiserver', about: '3 minutes' },
  'kube-controller-manager': {
    pkg: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    about: '1 minute',
  },
  kubectl: { pkg: 'k8s.io/kubernetes/cmd/kubectl', about: '20 seconds' },
}

/** The version of Kubernetes that a go.mod pins, such as "v1.36.3". @throws Error when it pins none */
export function kubernetesVersion(goMod: string): string {
  const version = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/m.exec(goMod)?.[1]
  if (version === undefined) throw new Error('go.mod does not require k8s.io/kubernetes')
  return version
}

/**
 * Flags of the linker. Without them the server calls itself v0.0.0, and kubectl warns about the skew.
 *
 * @throws Error for a go.mod that pins no version
 */
export function linkerFlags(goMod: string): string {
  const version = kubernetesVersion(goMod)
  const [major, minor] = version.slice(1).split('.')
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor }
  const set = Object.entries(values).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  )
  return ['-s -w', ...set].join(' ')
}
