// Searches what a direct endpoint writes for secrets (contract 3.5).
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sinksOf } from '../cluster/gateway/canary-cluster.ts'
import { type Finding, findCanaries, privateKeyCanary, tokenCanary } from '../support/canary.ts'
import { type DirectCluster, type DirectEndpoint, DIRECT_USER } from './direct-cluster.ts'
import type { TokenPlatform } from './token-platform.ts'

/** A text that each of them has. */
const KNOWN: Readonly<Record<string, string>> = {
  'log of the direct endpoint': 'serving the direct endpoint',
  'metrics of the direct endpoint': 'platform_direct_signing_keys',
  'health of the direct endpoint': 'revocations-known',
  'command line of the direct endpoint': '--state-dir',
  'environment of the direct endpoint': 'PATH',
  Events: 'TargetReady',
  'audit log': 'platform.sh/token-id',
  state: '"asOf"',
}

/** What is searched, and for what. */
interface Searched {
  readonly cluster: DirectCluster
  readonly endpoint: DirectEndpoint
  readonly stateDir: string
  readonly platform: TokenPlatform
  /** Tokens that were presented. */
  readonly tokens: readonly string[]
}

/**
 * The secrets in logs, metrics, health, command line, environment, Events, audit log and state.
 *
 * @throws Error when one of them lacks a text that it always has: a search there would find nothing either
 */
export async function secretsIn(searched: Searched): Promise<readonly Finding[]> {
  const { cluster, endpoint, stateDir, platform, tokens } = searched
  const events = await cluster.raw('GET', '/apis/events.k8s.io/v1/events')
  const sinks: Readonly<Record<string, string>> = {
    ...(await sinksOf('direct endpoint', endpoint.process)),
    Events: JSON.stringify(events.body),
    'audit log': (await cluster.audit.linesSince({ offset: 0 }, DIRECT_USER)).join('\n'),
    state: await textIn(stateDir),
  }
  for (const [sink, text] of Object.entries(sinks))
    if (!text.includes(KNOWN[sink] ?? '')) throw new Error(`the ${sink} lacks ${KNOWN[sink]}`)
  const { privateKey } = await platform.signingKey(2)
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const canaries = [
    ...tokens.map((token, at) => tokenCanary(`token ${at}`, token)),
    { label: 'access key', secret: platform.accessKey },
    { label: 'token of the webhook', secret: cluster.webhookToken },
    privateKeyCanary('signing key', pem),
  ]
  return findCanaries(sinks, canaries)
}

async function textIn(folder: string): Promise<string> {
  const names = await readdir(folder)
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n')
}
