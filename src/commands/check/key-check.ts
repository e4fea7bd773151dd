// Creates an access key, uses it at the gateway, deletes it, and checks that the gateway refuses it.
import { randomBytes } from 'node:crypto'
import { ACCESS_KEYS, API_VERSION } from '../../api/names.ts'
import type { OwnedAccessKeyObject } from '../../domain/accesskey/access-key.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../../kube/client/client.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { stringOf } from '../../domain/json/json.ts'
import { documentOf } from './gateway-checks.ts'
import { type SendHttps, SELF_REVIEW_PATH, selfReviewCall, userInfoIn } from '../shared/https.ts'
import { type CheckResult, failureOf, found, missing } from './result.ts'

/** Dependencies of checkKey. */
interface KeyCheckParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly send: SendHttps
  /** URL without a path; null = the key is made and removed, and not used. */
  readonly gateway: string | null
}

/** The result, and whether a manager has worked on the key. */
interface KeyCheckResult {
  readonly result: CheckResult
  readonly isManaged: boolean
}

/** The user of the key, to whom RBAC grants nothing. */
const SUBJECT = 'management-operator-check'
/** The key expires soon, in case this process ends before it deletes the key. */
const TTL_SECONDS = 300
const WITHIN_MS = 10_000
const PAUSE_MS = 200
const NEVER_ABORTED = new AbortController().signal

/** Creates the key, uses it if the gateway has an address, and deletes it whatever happens. */
export async function checkKey(parts: KeyCheckParts): Promise<KeyCheckResult> {
  const { client } = parts
  const name = `check-${randomBytes(6).toString('hex')}`
  await client.create<OwnedAccessKeyObject>(ACCESS_KEYS, keyNamed(name), 'check')
  let key: OwnedAccessKeyObject | null = null
  let used: CheckResult
  try {
    key = await awaited(parts, () => activeKey(client, name))
    used = key === null ? missing(NO_MANAGER(name)) : await use(parts, key.spec?.key ?? '')
  } catch (error) {
    used = missing(failureOf(error))
  } finally {
    await remove(parts, name)
  }
  const isManaged = key !== null
  if (key === null || used.kind === 'missing') return { result: used, isManaged }
  return { result: await afterRemoval(parts, name, key.spec?.key ?? '', used), isManaged }
}

const NO_MANAGER = (name: string): string =>
  `no manager has made access key ${name} ready within 10 s: is one running?`

function keyNamed(name: string): NewObject {
  return {
    apiVersion: API_VERSION,
    kind: ACCESS_KEYS.kind,
    metadata: { name },
    spec: {
      displayName: 'Made by management-operator check, which removes it',
      subject: SUBJECT,
      ttl: TTL_SECONDS,
      scope: { roles: [{ role: 'platformCLI' }] },
    },
  }
}

async function activeKey(client: KubeClient, name: string): Promise<OwnedAccessKeyObject | null> {
  const key = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, { name })
  const ready = key?.status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' ? key : null
}

/** Tries until each replica can have the new key: a replica refuses a key that its watch has not delivered. */
async function use(parts: KeyCheckParts, key: string): Promise<CheckResult> {
  if (parts.gateway === null) return found('made')
  let last = ''
  const user = await awaited(parts, async () => {
    const { status, body } = await whoami(parts, key)
    last = `the gateway answers ${status} to it: ${stringOf(documentOf(body)['message']) ?? ''}`
    return status === 201 ? (stringOf(userInfoIn(body)['username']) ?? '') : null
  })
  if (user === null) return missing(`a new access key does not work within 10 s: ${last}`)
  return user === SUBJECT
    ? found('made, used at the gateway')
    : missing(`a key of ${SUBJECT} runs as ${JSON.stringify(user)}`)
}

const whoami = ({ gateway, send }: KeyCheckParts, bearer: string) =>
  send(`${gateway}${SELF_REVIEW_PATH}`, selfReviewCall(bearer))

/** Deletes the key. After a conflict it tries again, because a gateway may have recorded the key's use. */
async function remove(parts: KeyCheckParts, name: string): Promise<void> {
  const { client } = parts
  await awaited(parts, async () => {
    const key = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, { name })
    if (key === null || key.metadata.deletionTimestamp) return true
    const { uid, resourceVersion } = key.metadata
    return client.delete(ACCESS_KEYS, { name }, { uid, resourceVersion }, 'check').then(
      () => true,
      (error: unknown) => {
        if (isConflict(error)) return null
        throw error
      },
    )
  })
}

/** Checks that the key is gone and that the gateway refuses it. */
async function afterRemoval(
  parts: KeyCheckParts,
  name: string,
  key: string,
  used: CheckResult,
): Promise<CheckResult> {
  const { client, gateway } = parts
  const isGone = await awaited(parts, async () =>
    (await client.get(ACCESS_KEYS, { name })) === null ? true : null,
  )
  if (isGone === null)
    return missing(`no manager has removed its finalizer from access key ${name} within 10 s`)
  if (gateway === null)
    return missing(`${used.text} and removed, but not used: its address is unknown, ${NAME_IT}`)
  const isRefused = await awaited(parts, async () =>
    (await whoami(parts, key)).status === 401 ? true : null,
  )
  if (isRefused === null)
    return missing('the gateway still accepts a key that was deleted 10 s ago')
  return found(`${used.text}, removed, and refused from then on`)
}

/** The remedy when the gateway's address is unknown. */
export const NAME_IT = 'name it by --gateway, or set platformHost of the Config'

/** Repeats the attempt until it returns a value, for ten seconds at most; null = no value. */
async function awaited<T>(
  { clock }: KeyCheckParts,
  attempt: () => Promise<T | null>,
): Promise<T | null> {
  const dueMs = clock.monotonicMs() + WITHIN_MS
  for (;;) {
    const value = await attempt()
    if (value !== null || clock.monotonicMs() > dueMs) return value
    await sleep(clock, PAUSE_MS, NEVER_ABORTED)
  }
}
