// The flags of the audit log, which the gateway and the direct endpoint share (contract 22.6).
import { quantityAmount } from '../../domain/settings/formats.ts'
import {
  type Flag,
  type FlagValue,
  type ValuesOf,
  choiceValue,
  countValue,
} from '../../runtime/flags.ts'
import { bufferValue } from './serving-flags.ts'

/** When a line counts as written: `write` = the kernel has it, `always` = the disk has it. */
const SYNC_MODES = ['write', 'always'] as const

/** The checked settings of AUDIT_FLAGS. */
export interface AuditFlagSettings {
  /** Folder below the setting `path`; null = none. */
  readonly subdirectory: string | null
  readonly sync: (typeof SYNC_MODES)[number]
  /** Longest recorded body in bytes. */
  readonly bodyLimitBytes: number
  /** Memory for the copies of bodies under way, in bytes. */
  readonly bufferBytes: number
  /** Events of requests without a caller that are recorded each second. */
  readonly anonymousPerSecond: number
}

const LONGEST_BODY_BYTES = 1024 ** 2

const bodyLimitValue: FlagValue<number> = {
  placeholder: '<quantity>',
  accepts: 'a Kubernetes quantity from 1 to 1Mi, such as 64Ki',
  read: (text) => {
    const bytes = quantityAmount(text) ?? 0
    return Number.isInteger(bytes) && bytes >= 1 && bytes <= LONGEST_BODY_BYTES ? bytes : undefined
  },
}

/** One folder: it can't lead out of the directory. */
const subdirectoryValue: FlagValue<string | null> = {
  placeholder: '<name>',
  accepts: 'the name of one folder: letters, digits, dots, dashes and underscores',
  read: (text) => {
    if (text === '') return null
    return /^[\w][\w.-]{0,252}$/.test(text) ? text : undefined
  },
}

const MOST_ANONYMOUS = 10_000

/** Flags of the audit log. */
export const AUDIT_FLAGS = {
  'audit-subdirectory': {
    value: subdirectoryValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Folder below the directory of the audit log for the files of this replica, such as the name of its pod.',
  },
  'audit-sync': {
    value: choiceValue(SYNC_MODES),
    fallback: 'write',
    help: 'When an event counts as recorded: write, once the kernel has its line, which survives a killed process; always, once the disk has it, which survives a power failure.',
  },
  'audit-body-limit': {
    value: bodyLimitValue,
    fallback: '512Ki',
    help: 'Longest request or response body that an event records; at most 1Mi. A longer one is left out.',
  },
  'audit-buffer': {
    value: bufferValue,
    fallback: '64Mi',
    help: 'Memory for copies of bodies until their events are written; at least 32Mi. Beyond it, bodies are left out.',
  },
  'audit-anonymous-per-second': {
    value: countValue(MOST_ANONYMOUS),
    fallback: '50',
    help: `Events of requests without a valid credential to record per second and replica, from 1 to ${MOST_ANONYMOUS}; others are counted.`,
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** The settings of AUDIT_FLAGS. */
export const auditFlagSettings = (values: ValuesOf<typeof AUDIT_FLAGS>): AuditFlagSettings => ({
  subdirectory: values['audit-subdirectory'],
  sync: values['audit-sync'],
  bodyLimitBytes: values['audit-body-limit'],
  bufferBytes: values['audit-buffer'],
  anonymousPerSecond: values['audit-anonymous-per-second'],
})
