// Least privilege, shown: what config/rbac grants to the program's accounts, what they did with it on the
// control planes of a test run, and the difference.
import { createReadStream, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseAllDocuments } from 'yaml'
import type { Failure } from './tally.ts'

/** One verb on one resource, of one account of the program. */
export interface Right {
  readonly account: string
  readonly verb: string
  readonly group: string
  /** With its subresource, such as `configs/status`. */
  readonly resource: string
  /** The namespace that it is limited to; empty = for objects that are in none. */
  readonly namespace: string
  /** The object that it is limited to; empty = any. */
  readonly name: string
}

/** What the accounts of the program did on a control plane. */
export interface Usage {
  /** The rights that they used, as `rightText` writes them. */
  readonly used: readonly string[]
  /** What the authorizer refused them because it is not granted. */
  readonly refused: readonly string[]
}

/** A request, as an audit log has it. */
export interface AuditedRequest {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly userAgent?: string
  readonly requestURI: string
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource?: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number }
  readonly annotations?: Readonly<Record<string, string>>
}

interface Rbac {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly resourceNames?: readonly string[]
    readonly verbs: readonly string[]
  }[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
}

const RBAC = join(import.meta.dirname, '../../config/rbac')
const ACCOUNTS = 'system:serviceaccount:platform-system:'
/** A test may borrow an account; what counts is what the program does. */
const PROGRAM = 'management-operator/'
const FILE = /^rights-.*\.json$/

/**
 * A right that no request shows: the policy on finalizers asks for it when the manager takes its own off.
 * test/cluster/policies/finalizers.ts shows that without it the finalizer stays.
 */
const isAskedByPolicy = ({ resource, verb }: Right): boolean =>
  resource.endsWith('/finalizers') && verb === 'update'

/** What the files of config/rbac grant to ServiceAccounts, one entry for each combination of a rule. */
export function grantedRights(): readonly Right[] {
  const texts = readdirSync(RBAC).map((file) => readFileSync(join(RBAC, file), 'utf8'))
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
  return rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        resourceNames.flatMap((name) =>
          verbs.map((verb) => ({ account, verb, group, resource, namespace, name })),
        ),
      ),
    ),
  )
}

/** A right in words. */
export function rightText({ account, verb, group, resource, namespace, name }: Right): string {
  const what = [resource, ...(group === '' ? [] : [group])].join('.')
  const which = name === '' ? '' : ` ${name}`
  return `${account}: ${verb} ${what}${which}${namespace === '' ? '' : ` in ${namespace}`}`
}

/** What the accounts did, from the requests of an audit log. A right counts when the answer was good. */
export function usageOf(requests: readonly AuditedRequest[], granted: readonly Right[]): Usage {
  const used = new Set<string>()
  const refused = new Set<string>()
  for (const request of requests) {
    const asked = askedFor(request)
    // An API server that starts refuses everything until it has read its roles.
    const lacking = asked.filter((one) => !granted.some((right) => covers(right, one)))
    if (request.annotations?.['authorization.k8s.io/decision'] === 'forbid')
      for (const right of lacking) refused.add(`${rightText(right)} (${request.requestURI})`)
    const { code = 0 } = request.responseStatus ?? {}
    if (code < 200 || code > 299) continue
    for (const right of granted)
      if (asked.some((one) => covers(right, one))) used.add(rightText(right))
  }
  return { used: [...used], refused: [...refused] }
}

/** Somebody else may act as an account by kubectl --as, and is named beside it then. */
const isOfProgram = ({ user, userAgent }: AuditedRequest): boolean =>
  user.username.startsWith(ACCOUNTS) && (userAgent ?? '').startsWith(PROGRAM)

/** What a request needs. An apply that makes the object needs create as well; its answer is 201. */
function askedFor({ verb, user, objectRef, responseStatus }: AuditedRequest): readonly Right[] {
  const { apiGroup = '', resource = '', subresource, namespace = '', name = '' } = objectRef ?? {}
  const verbs = verb === 'patch' && responseStatus?.code === 201 ? ['patch', 'create'] : [verb]
  return verbs.map((each) => ({
    account: user.username.slice(ACCOUNTS.length),
    verb: each,
    group: apiGroup,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
  }))
}

function covers(right: Right, asked: Right): boolean {
  const { name, ...rest } = right
  const isSame = Object.entries(rest).every(([key, value]) => asked[key as keyof Right] === value)
  return isSame && (name === '' || name === asked.name)
}

/** Notes in the output folder of a run what the accounts did on a control plane, by its audit log. */
export async function noteRights(auditLog: string, output: string, id: string): Promise<void> {
  // A control plane that is stopped twice has been read, and its log is gone.
  if (!existsSync(auditLog)) return
  const requests: AuditedRequest[] = []
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    if (!line.includes(`"username":"${ACCOUNTS}`)) continue
    const request = JSON.parse(line) as AuditedRequest
    if (isOfProgram(request)) requests.push(request)
  }
  const usage = usageOf(requests, grantedRights())
  writeFileSync(join(output, `rights-${id}.json`), JSON.stringify(usage))
}

/**
 * What a run shows to be wrong with the rights of the accounts: requests that were refused, and, where
 * every test ran, rights that nobody used.
 */
export function rightsFailures(output: string, ranAll: boolean): readonly Failure[] {
  const usages = readdirSync(output)
    .filter((name) => FILE.test(name))
    .map((name) => JSON.parse(readFileSync(join(output, name), 'utf8')) as Usage)
  return differences(usages, ranAll ? grantedRights() : [])
}

/** Those failures, by what was used and what is granted. */
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
