// The flags that the gateway and the direct endpoint share: how they serve, and the targets that they lead to.
import type { AddressRanges, Cidr } from '../../domain/ip-address.ts'
import { quantityAmount } from '../../domain/settings/formats.ts'
import type { BindAddress } from '../../runtime/address.ts'
import {
  type Flag,
  type FlagValue,
  type ValuesOf,
  addressValue,
  fileValue,
} from '../../runtime/flags.ts'
import type { CertificateFiles } from '../../serving/tls/key-pair.ts'
import { cidrsValue, namespaceValue } from './flags.ts'

/** The checked settings of SERVING_FLAGS (contract 9.7). */
export interface ServingSettings {
  readonly bindAddress: BindAddress
  /** null = this process generates a certificate. */
  readonly certificateFiles: CertificateFiles | null
  /** Proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies: readonly Cidr[]
  /** Limit on the memory that all tunnels hold for clients that have not read it yet. */
  readonly forwardBufferBytes: number
}

/** The checked settings of TARGET_FLAGS (contract 9.5). */
export interface TargetSettings {
  /** Namespace of the Secrets that define targets. */
  readonly targetNamespace: string
  /** Ranges for the addresses of targets. */
  readonly targetAddresses: AddressRanges
}

const MIN_BUFFER_BYTES = 32 * 1024 ** 2

/** A size of a buffer. At least 32Mi: one caller or session gets an eighth, into which what it needs must fit. */
export const bufferValue: FlagValue<number> = {
  placeholder: '<quantity>',
  accepts: 'a Kubernetes quantity of at least 32Mi, such as 64Mi or 1Gi',
  read: (text) => {
    const bytes = quantityAmount(text)
    const isLargeEnough = Number.isSafeInteger(bytes) && Number(bytes) >= MIN_BUFFER_BYTES
    return bytes !== null && isLargeEnough ? bytes : undefined
  },
}

/** Flags of the HTTPS server. */
export const SERVING_FLAGS = {
  'bind-address': {
    value: addressValue,
    fallback: ':8443',
    help: 'Address that serves clients over HTTPS.',
  },
  'tls-cert-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'a self-issued certificate, in Secret platform-gateway-tls',
    help: 'Path to the PEM file with the serving certificate and its chain; reloaded when it changes.',
  },
  'tls-private-key-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'the private key of that certificate',
    help: 'Path to the PEM file with the private key of the serving certificate; reloaded when it changes.',
  },
  'trusted-proxies': {
    value: cidrsValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Range of addresses of proxies in front of this server whose X-Forwarded-For names the client; repeatable. Events and the API server get the address of the client.',
  },
  'forward-buffer': {
    value: bufferValue,
    fallback: '256Mi',
    help: 'Memory for data of exec, attach, cp, port-forward and WebSockets that clients have not read yet; at least 32Mi. One session uses at most 8Mi.',
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** Flags of the targets that Secrets define. */
export const TARGET_FLAGS = {
  'target-namespace': {
    value: namespaceValue,
    fallback: '',
    shownDefault: 'the platform namespace with suffix -targets',
    help: 'Namespace of the Secrets that define targets: clusters, virtual clusters and spaces.',
  },
  'allow-target-cidr': {
    value: cidrsValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Range of addresses to allow for targets, although they are loopback, link-local, metadata, multicast or unspecified addresses; repeatable.',
  },
  'deny-target-cidr': {
    value: cidrsValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Range of addresses to deny for targets, even if --allow-target-cidr allows them; repeatable.',
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

type ServingFlagValues = ValuesOf<typeof SERVING_FLAGS>

/** The settings of SERVING_FLAGS. */
export function servingSettings(values: ServingFlagValues): ServingSettings {
  const certificateFile = values['tls-cert-file']
  const keyFile = values['tls-private-key-file']
  return {
    bindAddress: values['bind-address'],
    certificateFiles:
      certificateFile === null || keyFile === null ? null : { certificateFile, keyFile },
    trustedProxies: values['trusted-proxies'],
    forwardBufferBytes: values['forward-buffer'],
  }
}

/** The settings of TARGET_FLAGS. @param namespace the platform namespace */
export const targetSettings = (
  values: ValuesOf<typeof TARGET_FLAGS>,
  namespace: string,
): TargetSettings => ({
  targetNamespace: values['target-namespace'] ?? `${namespace}-targets`,
  targetAddresses: { allowed: values['allow-target-cidr'], denied: values['deny-target-cidr'] },
})

/** Faults between the flags of the certificate. */
export const certificateFaults = (values: Partial<ServingFlagValues>): readonly string[] =>
  Boolean(values['tls-cert-file']) === Boolean(values['tls-private-key-file'])
    ? []
    : ['--tls-cert-file and --tls-private-key-file go together: give both or neither']
