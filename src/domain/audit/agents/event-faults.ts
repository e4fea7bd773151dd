// What is wrong with an event of an agent (contract 23.2): the clauses name fields, and quote nothing of the event.
import { type Json, type JsonMap, isAbsent, isList, isMap, ownValue } from '../../json/json.ts'
import { parseTimestamp } from '../../time.ts'
import { API_VERSION } from '../event-list.ts'
import { AUDIT_STAGES } from '../policy.ts'

/** A check of an event; null = it is good. @param latestMs the latest time that an event may have */
type EventCheck = (event: JsonMap, latestMs: number) => string | null

/** The levels of events. */
export const EVENT_LEVELS = ['Metadata', 'Request', 'RequestResponse'] as const

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

const isText = (value: Json | undefined): boolean => typeof value === 'string' && value !== ''

const isTextOrAbsent = (value: Json | undefined): boolean =>
  isAbsent(value) || typeof value === 'string'

const isListOfTexts = (value: Json | undefined): boolean =>
  isAbsent(value) || (isList(value) && value.every((one) => typeof one === 'string'))

/** Whether the value is a map whose values are all good. */
const isMapOf = (value: Json | undefined, isGood: (one: Json) => boolean): boolean =>
  isAbsent(value) || (isMap(value) && Object.values(value).every(isGood))

const oneOf =
  (field: string, words: readonly string[]): EventCheck =>
  (event) =>
    words.some((word) => word === ownValue(event, field))
      ? null
      : `${field} is none of ${words.join(', ')}`

const textIn =
  (field: string): EventCheck =>
  (event) =>
    isText(ownValue(event, field)) ? null : `${field} is missing, or is not a text`

const timeIn =
  (field: string): EventCheck =>
  (event, latestMs) => {
    const atMs = parseTimestamp(ownValue(event, field))
    if (atMs === null) return `${field} is not a time of RFC 3339`
    return atMs > latestMs ? `${field} is more than a day ahead of the clock of the gateway` : null
  }

/** A list whose kind may be left out of its items. */
const kind: EventCheck = (event) => {
  const isKind = (ownValue(event, 'kind') ?? 'Event') === 'Event'
  const isVersion = (ownValue(event, 'apiVersion') ?? API_VERSION) === API_VERSION
  return isKind && isVersion ? null : `it is not an Event of ${API_VERSION}`
}

const auditID: EventCheck = (event) => {
  const id = ownValue(event, 'auditID')
  return typeof id === 'string' && UUID.test(id) ? null : 'auditID is not a UUID in lower case'
}

const user: EventCheck = (event) => {
  const value = ownValue(event, 'user')
  if (!isMap(value) || !isText(ownValue(value, 'username'))) return 'user has no username'
  if (!isListOfTexts(ownValue(value, 'groups'))) return 'user.groups is not a list of texts'
  return isMapOf(ownValue(value, 'extra'), isListOfTexts)
    ? null
    : 'user.extra is not a map of lists of texts'
}

const client: EventCheck = (event) => {
  if (!isListOfTexts(ownValue(event, 'sourceIPs'))) return 'sourceIPs is not a list of texts'
  return isTextOrAbsent(ownValue(event, 'userAgent')) ? null : 'userAgent is not a text'
}

/** The fields of an objectRef besides its resource. */
const OBJECT_FIELDS = ['namespace', 'name', 'apiGroup', 'apiVersion', 'subresource'] as const

const objectRef: EventCheck = (event) => {
  const value = ownValue(event, 'objectRef')
  if (isAbsent(value)) return null
  if (!isMap(value) || !isText(ownValue(value, 'resource'))) return 'objectRef has no resource'
  const wrong = OBJECT_FIELDS.find((field) => !isTextOrAbsent(ownValue(value, field)))
  return wrong === undefined ? null : `objectRef.${wrong} is not a text`
}

const responseStatus: EventCheck = (event) => {
  const value = ownValue(event, 'responseStatus')
  if (isAbsent(value)) return null
  const code = isMap(value) ? ownValue(value, 'code') : undefined
  if (!isMap(value) || !isStatusCode(code))
    return 'responseStatus.code is not a code from 100 to 599'
  const wrong = ['status', 'reason', 'message'].find(
    (field) => !isTextOrAbsent(ownValue(value, field)),
  )
  return wrong === undefined ? null : `responseStatus.${wrong} is not a text`
}

const isStatusCode = (code: Json | undefined): boolean =>
  Number.isInteger(code) && Number(code) >= 100 && Number(code) <= 599

const annotations: EventCheck = (event) =>
  isMapOf(ownValue(event, 'annotations'), (one) => typeof one === 'string')
    ? null
    : 'annotations is not a map of texts'

const CHECKS: readonly EventCheck[] = [
  kind,
  oneOf('level', EVENT_LEVELS),
  auditID,
  oneOf('stage', AUDIT_STAGES),
  textIn('requestURI'),
  textIn('verb'),
  user,
  client,
  objectRef,
  responseStatus,
  timeIn('requestReceivedTimestamp'),
  timeIn('stageTimestamp'),
  annotations,
]

/** The first fault of an event as a clause; null = it is one. @param latestMs the latest time that it may have */
export function eventFault(event: JsonMap, latestMs: number): string | null {
  for (const check of CHECKS) {
    const fault = check(event, latestMs)
    if (fault !== null) return fault
  }
  return null
}
