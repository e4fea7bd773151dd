// Least privilege, shown: what config/rbac grants to the program's accounts, what they did with it on the
// control planes of a test run, and the difference.
import { createReadStream, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseAllDocuments } from 'yaml'
import {
  accountIn,
  type AuditedRequest,
  type Right,
  rightsMissed,
  rightsUsed,
} from './asked-rights.ts'
import type { Failure } from './tally.ts'

/** Use of rights by the accounts of the program on a control plane. */
export interface Usage {
  /** The rights that they used, as `rightText` writes them. */
  readonly used: readonly string[]
  /** Requests that the authorizer refused because the right is not granted. */
  readonly refused: readonly string[]
}

interface Rbac {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly {
    readonly apiGroups?: readonly string[]
    readonly resources?: readonly string[]
    readonly resourceNames?: readonly string[]
    readonly nonResourceURLs?: readonly string[]
    readonly verbs: readonly string[]
  }[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
}

const CONFIG = join(import.meta.dirname, '../../config')
/**
 * The folders with roles of manager, gateway, delivery process and sign-in process. The last has what the owner of a namespace
 * grants the delivery process there.
 */
const RBAC = ['rbac', 'target-namespace', 'sign-in-namespace', 'components/delivery-everywhere']
/** A test may borrow an account; only requests of the program count. */
const PROGRAMS = [
  'management-operator/',
  'management-operator-sign-in/',
  'management-operator-delivery/',
]
/** These forward the user agent of their clients, so a test that borrows such an account sets BORROWED. */
const FORWARDING = ['gateway', 'direct']
const BORROWED = 'borrowed/'
const FILE = /^rights-.*\.json$/

/**
 * Rights that no request shows, because policies ask for them: on finalizers, when the manager takes its own
 * off (test/cluster/policies/reserved-cases.ts: without it the finalizer stays), to generate, when it sets a key
 * (test/cluster/policies/reserved-cases.ts: without it there is none), to record an identity, when it takes a report
 * over (test/cluster/signin/identity-reports.private.test.ts), and to delegate and to use, when the gateway
 * makes a key or a token for a caller (test/cluster/gateway/impersonation.test.ts), or the delivery process one for a claim, and to sign
 * in, when a person does (test/cluster/policies). By confine a policy knows the accounts of the product
 * (test/cluster/policies/account-token.test.ts).
 */
export const isAskedByPolicy = ({ account, resource, verb }: Right): boolean =>
  (resource.endsWith('/finalizers') && verb === 'update') ||
  (resource === 'tokensecrets' && verb === 'confine') ||
  (resource === 'ownedaccesskeys' && (POLICY_VERBS[account] ?? []).includes(verb))

/** The verbs on keys that policies ask for, by account. */
const POLICY_VERBS: Readonly<Record<string, readonly string[]>> = {
  manager: ['generate', 'record-identity'],
  gateway: ['delegate', 'use'],
  delivery: ['delegate', 'use'],
  'sign-in': ['sign-in'],
}

/**
 * The rights that manifests grant to ServiceAccounts, one for each combination of a rule.
 *
 * @param folders below config/, without the folders in them; the folders of these four when absent
 */
export function grantedRights(folders: readonly string[] = RBAC): readonly Right[] {
  const texts = folders.flatMap((folder) =>
    readdirSync(join(CONFIG, folder))
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => readFileSync(join(CONFIG, folder, file), 'utf8')),
  )
  const objects = texts
    .flatMap((text) => parseAllDocuments(text))
    .map((document) => document.toJS() as Rbac)
    .filter(({ kind }) => /Role/.test(kind))
  return objects.flatMap((binding) => {
    const { roleRef, subjects = [], metadata } = binding
    const role = objects.find(
      ({ kind, metadata: { name, namespace } }) =>
        kind === roleRef?.kind && name === roleRef.name && namespace === metadata.namespace,
    )
    const accounts = subjects.filter(({ kind }) => kind === 'ServiceAccount')
    return accounts.flatMap(({ name }) => (role ? rightsOf(role, name) : []))
  })
}

function rightsOf({ rules = [], metadata }: Rbac, account: string): readonly Right[] {
  const { namespace = '' } = metadata
  const ANY = ['']
  return rules.flatMap(({ verbs, ...rule }) => {
    const { apiGroups = ANY, resources = ANY, resourceNames = ANY, nonResourceURLs = ANY } = rule
    return verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) =>
            nonResourceURLs.map((path) => ({
              account,
              verb,
              group,
              resource,
              path,
              namespace,
              name,
            })),
          ),
        ),
      ),
    )
  })
}

/** A right in words. */
export function rightText({ account, verb, namespace, name, ...right }: Right): string {
  const { group, resource, path } = right
  const object = [resource, ...(group === '' ? [] : [group])].join('.')
  const what = path === '' ? object : `path ${path}`
  const which = name === '' ? '' : ` ${name}`
  return `${account}: ${verb} ${what}${which}${namespace === '' ? '' : ` in ${namespace}`}`
}

/** The rights that the accounts used and missed, from the requests of an audit log. */
export async function usageOf(
  requests: AsyncIterable<AuditedRequest> | Iterable<AuditedRequest>,
  granted: readonly Right[],
): Promise<Usage> {
  const used = new Set<string>()
  const refused = new Set<string>()
  const coverOf = covering(granted)
  for await (const request of requests) {
    for (const right of rightsUsed(request)) for (const text of coverOf(right)) used.add(text)
    for (const right of rightsMissed(request)) {
      // An API server that starts refuses everything until it has read its roles.
      if (coverOf(right).length === 0) refused.add(`${rightText(right)} (${request.requestURI})`)
    }
  }
  return { used: [...used], refused: [...refused] }
}

/** Which of the rights that are granted cover one, in words; the same is asked many times. */
function covering(granted: readonly Right[]): (asked: Right) => readonly string[] {
  const known = new Map<string, readonly string[]>()
  return (asked) => {
    const key = rightText(asked)
    const found = known.get(key) ?? granted.filter((right) => covers(right, asked)).map(rightText)
    known.set(key, found)
    return found
  }
}

/**
 * Granted in all namespaces and used in each: events, for which config/rbac/manager.yaml says why, claims, and the Secrets of
 * claims, which are in no namespace of the platform or of Kubernetes.
 */
const isForAllNamespaces = ({ account, group, resource, verb, namespace }: Right): boolean =>
  (group === 'events.k8s.io' && resource === 'events' && verb === 'create') ||
  (account === 'delivery' && resource.startsWith('accesskeyclaims')) ||
  (account === 'delivery' && resource === 'secrets' && !OWN_NAMESPACE.test(namespace))

const OWN_NAMESPACE = /^(platform-system|platform-system-.*|kube-.*)$/

function covers({ name, group, resource, path, ...rest }: Right, asked: Right): boolean {
  const stands = (own: string, other: string): boolean => own === other || own === '*'
  return (
    rest.account === asked.account &&
    rest.verb === asked.verb &&
    (rest.namespace === asked.namespace || (rest.namespace === '' && isForAllNamespaces(asked))) &&
    (path === '' ? asked.path === '' : stands(path, asked.path)) &&
    stands(group, asked.group) &&
    stands(resource, asked.resource) &&
    (name === '' || name === asked.name)
  )
}

/** Writes the usage of rights on a control plane, from its audit log, into the output folder of a run. */
export async function noteRights(auditLog: string, output: string, id: string): Promise<void> {
  // A control plane that is stopped twice has been read, and its log is gone.
  if (!existsSync(auditLog)) return
  const usage = await usageOf(requestsIn(auditLog), grantedRights())
  writeFileSync(join(output, `rights-${id}.json`), JSON.stringify(usage))
}

/** The requests of the program's accounts in an audit log. */
export async function* requestsIn(auditLog: string): AsyncGenerator<AuditedRequest> {
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    if (!line.includes('"username":"system:serviceaccount:platform-system')) continue
    const request = JSON.parse(line) as AuditedRequest
    if (isOfProgram(request)) yield request
  }
}

/** Another user who acts as an account by kubectl --as is in `user`, and does not count. */
function isOfProgram({ user, userAgent = '' }: AuditedRequest): boolean {
  const account = accountIn(user.username)
  if (account === null) return false
  if (FORWARDING.includes(account)) return !userAgent.startsWith(BORROWED)
  return PROGRAMS.some((program) => userAgent.startsWith(program))
}

/**
 * The failures of a run with regard to rights: requests that were refused, and, where every test ran, rights
 * that no request used.
 */
export function rightsFailures(output: string, ranAll: boolean): readonly Failure[] {
  const usages = readdirSync(output)
    .filter((name) => FILE.test(name))
    .map((name) => JSON.parse(readFileSync(join(output, name), 'utf8')) as Usage)
  return differences(usages, ranAll ? grantedRights() : [])
}

/** The failures of a run, from the used and the granted rights. */
export function differences(
  usages: readonly Usage[],
  granted: readonly Right[],
): readonly Failure[] {
  const used = new Set(usages.flatMap((usage) => usage.used))
  const refused = new Set(usages.flatMap((usage) => usage.refused))
  const idle = granted.filter((right) => !isAskedByPolicy(right) && !used.has(rightText(right)))
  return [
    failure('config/rbac lacks rights that the program asked for', [...refused]),
    failure('config/rbac grants rights that the program never used', idle.map(rightText)),
  ].filter(({ error }) => error !== '')
}

const failure = (test: string, lines: readonly string[]): Failure => ({
  test,
  error: lines.toSorted().join('\n'),
})
