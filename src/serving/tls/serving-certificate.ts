// Keeps the gateway's own serving certificate and its CA in Secrets, so that all replicas serve the same certificate.
import { GATEWAY_CA_SECRET, GATEWAY_TLS_SECRET, SECRETS } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient, NamedObject } from '../../kube/client/client.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Rounds } from '../../runtime/concurrency/rounds.ts'
import type { Log } from '../../runtime/log.ts'
import type { ValidCertificatePair } from './key-pair.ts'
import {
  OUR_COMMON_NAME,
  parseAuthoritySecret,
  authoritySecret,
  certificateStep,
  missingHosts,
  parseServingSecret,
  serverSecret,
} from './secret.ts'

/** Why the Secrets are written, for metrics. */
export const CERTIFICATE_WRITE_REASONS = ['create', 'renew'] as const

/** Options of maintainCertificate. It maintains the certificate until the signal aborts. */
interface MaintainOptions {
  readonly client: Pick<KubeClient, 'get' | 'apply'>
  /** Creates a Secret; rejects with a conflict if another replica did. */
  readonly create: (secret: NamedObject, reason: 'create') => Promise<unknown>
  readonly namespace: string
  /** The hosts that the certificate should have now. */
  readonly hosts: () => readonly string[]
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** Called with the first certificate, and with each new one. */
  readonly take: (pair: ValidCertificatePair) => void
}

/** The certificate that maintainCertificate keeps. */
export interface ServingCertificate {
  /** Reads the Secrets now, for example because the hosts have changed. */
  refresh(): void
  /** Why there is no certificate, or which hosts it lacks, as a clause; null = no fault. */
  fault(): string | null
}

/** Pause between two reads of the Secrets, which other replicas renew too. */
const READ_EVERY_MS = 60_000
const BACK_OFF = { firstMs: 200, longestMs: 10_000 }
/** More conflicts in a row than replicas cause are a fault. */
const MOST_TRIES = 5

/** Starts to maintain the certificate. `take` gets the first one as soon as the API server has stored it. */
export function maintainCertificate(options: MaintainOptions): ServingCertificate {
  let served: ValidCertificatePair | null = null
  const rounds = new Rounds(options)
  let retries = 0
  const maintain = async (): Promise<number> => {
    const pair = await currentPair(options)
    if (pair && pair.certificatePem !== served?.certificatePem) options.take(pair)
    served = pair ?? served
    retries = pair ? 0 : retries + 1
    return pair ? READ_EVERY_MS : backoffMs(BACK_OFF, retries - 1)
  }
  void rounds.run(maintain)
  return {
    refresh: () => rounds.wake(),
    fault: () => {
      if (served === null) return `Secret ${GATEWAY_TLS_SECRET} has not been read or written yet`
      const isOurs = served.commonName === OUR_COMMON_NAME
      const missing = isOurs ? missingHosts(served, options.hosts()) : []
      return missing.length === 0 ? null : `the certificate lacks ${missing.join(', ')}`
    },
  }
}

/** The certificate to serve; null = none can be served now, and a warning is logged. */
async function currentPair(options: MaintainOptions): Promise<ValidCertificatePair | null> {
  try {
    return await runSteps(options)
  } catch (err) {
    if (!options.signal.aborted)
      options.log.warn({ err }, 'certificate cannot be kept, trying again')
    return null
  }
}

async function runSteps(options: MaintainOptions): Promise<ValidCertificatePair> {
  const { client, namespace, hosts, clock } = options
  const read = (name: string) => client.get<Secret>(SECRETS, { namespace, name })
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const authority = await read(GATEWAY_CA_SECRET)
    const server = await read(GATEWAY_TLS_SECRET)
    const found = {
      authority: authority && parseAuthoritySecret(authority),
      server: server && parseServingSecret(server),
    }
    const nowMs = clock.nowMs()
    const step = certificateStep(found, hosts(), nowMs)
    switch (step.kind) {
      case 'serve':
        return step.pair
      case 'establish':
        await write(options, authority, await authoritySecret(namespace, step.authority, nowMs))
        break
      case 'issue':
        await write(options, server, await serverSecret(namespace, step, nowMs))
        break
      case 'unusable':
        throw new Error(
          `Secret ${step.secret}: ${step.because}; mend it, or delete it to get a new one`,
        )
      default:
        return step satisfies never
    }
  }
  throw new Error(`the certificate's Secrets were written by others ${MOST_TRIES} times in a row`)
}

/** Stores a Secret. After a conflict the Secret of the other replica is used. */
async function write(
  { client, create, log }: MaintainOptions,
  before: Secret | null,
  secret: NamedObject,
): Promise<void> {
  try {
    if (before === null) await create(secret, 'create')
    else {
      const { uid, resourceVersion } = before.metadata
      const metadata = { ...secret.metadata, uid, resourceVersion }
      await client.apply(SECRETS, { ...secret, metadata }, 'renew')
    }
    log.info({ object: secret.metadata }, 'certificate stored')
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
