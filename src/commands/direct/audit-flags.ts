// The flags of the audit log that a direct endpoint has beside those of the gateway: its own directory, the platform that its events go
// to, and the room for those that are not sent yet (contract 23.1).
import { auditPath, quantityAmount } from '../../domain/settings/formats.ts'
import { STANDARD_OUTPUT } from '../../audit/files/sink.ts'
import {
  type Flag,
  type FlagValue,
  type ValuesOf,
  choiceValue,
  fileValue,
} from '../../runtime/flags.ts'
import { AUDIT_FLAGS, type AuditFlagSettings, auditFlagSettings } from '../shared/audit-flags.ts'

/** Where the settings of the audit log come from, and its events go to. */
export interface CentralSettings {
  /** The gateway of the platform, such as `https://platform.example.com`. */
  readonly url: string
  /** Path of a PEM file with the CA of its certificate. */
  readonly caFile: string
  /** Path of the file with the access key. */
  readonly accessKeyFile: string
}

/** When events that are not sent yet fill their room: requests are `refuse`d, or the oldest events are `drop`ped. */
const SPOOL_MODES = ['refuse', 'drop'] as const

/** The checked settings of the audit log of a direct endpoint. */
export interface DirectAuditSettings extends AuditFlagSettings {
  /** Directory of its files; null = nothing is recorded. */
  readonly path: string | null
  /** null = no settings are read, and no event is sent. */
  readonly central: CentralSettings | null
  /** Room for events that are not sent yet, in bytes. */
  readonly spoolBytes: number
  readonly spoolFull: (typeof SPOOL_MODES)[number]
}

const directoryValue: FlagValue<string | null> = {
  placeholder: '<directory>',
  accepts: 'an absolute path without .., or - for standard output',
  read: (text) => (text === '' ? null : auditPath(text) === null ? text : undefined),
}

const serverValue: FlagValue<string | null> = {
  placeholder: '<url>',
  accepts: 'a URL such as https://platform.example.com, without a path',
  read: (text) => {
    if (text === '') return null
    const url = URL.parse(text)
    const isServer = url?.protocol === 'https:' && [url.origin, `${url.origin}/`].includes(text)
    return isServer ? url.origin : undefined
  },
}

const MIB = 1024 ** 2

/** Two files of the largest size that Config may set would not fit into less. */
const MIN_SPOOL_BYTES = 16 * MIB

const spoolValue: FlagValue<number> = {
  placeholder: '<quantity>',
  accepts: 'a Kubernetes quantity of at least 16Mi, such as 256Mi or 2Gi',
  read: (text) => {
    const bytes = quantityAmount(text) ?? 0
    return Number.isSafeInteger(bytes) && bytes >= MIN_SPOOL_BYTES ? bytes : undefined
  },
}

/** Flags of the audit log of a direct endpoint. */
export const DIRECT_AUDIT_FLAGS = {
  'audit-path': {
    value: directoryValue,
    fallback: '',
    shownDefault: 'none, nothing is recorded',
    help: 'Directory of the audit log of this endpoint, or - for standard output. What is recorded is set in the Config of the platform.',
  },
  'central-url': {
    value: serverValue,
    fallback: '',
    shownDefault: 'none, events stay here',
    help: 'URL of the gateway of the platform, whose Config says what is recorded, and which gets the events.',
  },
  'central-ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none',
    help: "Path to the PEM file with the CA of that gateway's certificate; read once, at start.",
  },
  'access-key-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Path to the file with the access key for that gateway; reloaded when it changes.',
  },
  'audit-spool-size': {
    value: spoolValue,
    fallback: '256Mi',
    help: 'Room for events that are not sent yet, which are kept beyond maxBackups and maxAge; at least 16Mi.',
  },
  'audit-spool-full': {
    value: choiceValue(SPOOL_MODES),
    fallback: 'refuse',
    help: 'What happens when that room is full: refuse answers 503 to requests that must be recorded; drop removes the oldest events.',
  },
  ...AUDIT_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

type DirectAuditValues = ValuesOf<typeof DIRECT_AUDIT_FLAGS>

const CENTRAL_FLAGS = ['central-url', 'central-ca-file', 'access-key-file'] as const

/** Flags of these that are given without those that they need. */
export function directAuditFaults(values: Partial<DirectAuditValues>): readonly string[] {
  const isGiven = (name: 'audit-path' | (typeof CENTRAL_FLAGS)[number]): boolean =>
    Boolean(values[name])
  const given = CENTRAL_FLAGS.filter(isGiven)
  if (given.length === 0) return []
  return [
    ...(given.length < CENTRAL_FLAGS.length
      ? ['--central-url, --central-ca-file and --access-key-file go together: give all or none']
      : []),
    ...(values['audit-path'] === STANDARD_OUTPUT
      ? ['--audit-path=- leaves no files to send to --central-url: name a directory']
      : []),
    ...(isGiven('audit-path')
      ? []
      : ['--central-url has no effect without --audit-path: give both or neither']),
  ]
}

/** The settings of DIRECT_AUDIT_FLAGS, which have no faults. */
export function directAuditSettings(values: DirectAuditValues): DirectAuditSettings {
  const [url, caFile, accessKeyFile] = CENTRAL_FLAGS.map((name) => values[name])
  return {
    ...auditFlagSettings(values),
    path: values['audit-path'],
    central: url && caFile && accessKeyFile ? { url, caFile, accessKeyFile } : null,
    spoolBytes: values['audit-spool-size'],
    spoolFull: values['audit-spool-full'],
  }
}
