// The platform's gateway, asked with the access key of this agent (contract 23.1). No error has the key, or what was answered.
import { open } from 'node:fs/promises'
import { API_VERSION, CONFIGS, MANAGEMENT_PATH } from '../../api/names.ts'
import { fieldsOf, parseJson } from '../../domain/json/json.ts'
import {
  isSettledStatus,
  type SettingsInForce,
  settingsInForce,
} from '../../domain/settings/effective-settings.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createHttpClient, type HttpClient } from '../../runtime/http-client.ts'

/** Where the platform is, and who asks. */
export interface CentralOptions {
  /** The https URL of the gateway, such as https://platform.example.com, without a slash at its end. */
  readonly url: string
  /** The CA of its certificate, PEM. */
  readonly ca: string
  /** Path; the file is read for each request, so that it can be replaced. */
  readonly accessKeyFile: string
  /** The name of this cluster. */
  readonly cluster: string
  readonly clock: Clock
  /** Ends requests and connections. */
  readonly signal: AbortSignal
}

/** What an agent asks of the platform. */
export interface CentralClient {
  /** The settings in force there. @throws Error without a whole answer in time, or with another status than 200 */
  readonly readSettings: () => Promise<SettingsInForce>
  /**
   * Sends an EventList; the platform may get it twice.
   *
   * @returns the status of the answer
   * @throws Error without a whole answer in time
   */
  readonly sendEvents: (eventList: Buffer) => Promise<number>
}

/** The bounds of an answer. Configs have 1.5 MiB at most each; what is said of events is a Status. */
const BOUNDS = {
  settings: { statuses: [200], maxBytes: 4 * 1024 * 1024, withinMs: 5000 },
  events: { statuses: [200], maxBytes: 64 * 1024, withinMs: 30_000 },
} as const

/** One for settings, one for events. */
const SOCKETS = 2

/** Creates a client. */
export function createCentralClient(options: CentralOptions): CentralClient {
  const { ca, clock, signal } = options
  const http = createHttpClient({ trust: { ca }, guard: null, maxSockets: SOCKETS, clock, signal })
  return {
    readSettings: () => readSettings(http, options),
    sendEvents: (eventList) => sendEvents(http, options, eventList),
  }
}

async function readSettings(http: HttpClient, options: CentralOptions): Promise<SettingsInForce> {
  const { status, body } = await http.get({
    ...BOUNDS.settings,
    url: `${managementOf(options)}/apis/${API_VERSION}/${CONFIGS.plural}`,
    headers: await headersOf(options),
  })
  if (body === null) throw new Error(`the platform answered ${status} when asked for its settings`)
  return settingsIn(body.toString('utf8'))
}

/** The settings of the one Config in a list that is in force. */
function settingsIn(list: string): SettingsInForce {
  const { items } = fieldsOf(parseJson(list))
  if (!Array.isArray(items))
    return { known: false, because: 'the platform answered without a list' }
  const statuses = items.map((item) => fieldsOf(item)['status'])
  const [status, other] = statuses.filter(isSettledStatus)
  if (other !== undefined)
    return { known: false, because: 'more than one Config of the platform is in force' }
  return settingsInForce(status ? { uid: '', status } : null, null)
}

async function sendEvents(
  http: HttpClient,
  options: CentralOptions,
  eventList: Buffer,
): Promise<number> {
  const { status } = await http.post({
    ...BOUNDS.events,
    url: `${managementOf(options)}/agents/${encodeURIComponent(options.cluster)}/auditevents`,
    headers: { ...(await headersOf(options)), 'content-type': 'application/json' },
    body: eventList,
  })
  return status
}

const managementOf = ({ url }: CentralOptions): string => `${url}${MANAGEMENT_PATH}`

async function headersOf({ accessKeyFile }: CentralOptions) {
  return {
    accept: 'application/json',
    authorization: `Bearer ${await readAccessKey(accessKeyFile)}`,
  }
}

const LONGEST_KEY_FILE = 4096

/** @throws Error when the file can't be read, or has another text than a key */
async function readAccessKey(path: string): Promise<string> {
  const text = await readStart(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`the file with the access key cannot be read (${error.code}): ${path}`)
  })
  const key = text.trim()
  // Not the text: it may be a key with something behind it.
  if (!/^[\x21-\x7e]+$/.test(key) || text.length > LONGEST_KEY_FILE)
    throw new Error(`the file with the access key has another text than a key: ${path}`)
  return key
}

async function readStart(path: string): Promise<string> {
  await using file = await open(path, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_KEY_FILE + 1))
  return buffer.toString('latin1', 0, bytesRead)
}
