// Which kinds the virtual cluster serves, for references to kinds that are not built in (contract 19.5).
import { isDnsLabel, isDnsSubdomain } from '../../domain/dns-name.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { SyncConfig } from '../config/config.ts'
import type { NamedKind, Unread } from '../patches/reference.ts'

/** The kinds that the virtual cluster serves, which are read when they are needed. */
export interface ServedKinds {
  readonly isServed: (kind: NamedKind) => boolean | Unread
  /** Reads these kinds from the virtual cluster. @throws what the request throws */
  readonly read: (kinds: readonly NamedKind[]) => Promise<void>
}

/** How long a kind counts as not served: its definition may be installed later. */
const MISSING_FOR_MS = 10_000

/** Tenants choose which kinds are read: beyond this number of versions, all are forgotten. */
const MOST_VERSIONS = 500

interface KnownVersion {
  readonly kinds: ReadonlySet<string>
  readonly readMs: number
}

/** @param readServedKinds the kinds in a version of a group; null = it is not served */
export function createServedKinds(
  readServedKinds: (group: string, version: string) => Promise<ReadonlySet<string> | null>,
  clock: Clock,
): ServedKinds {
  const known = new Map<string, KnownVersion>()
  const isServed = ({ apiVersion, kind }: NamedKind): boolean | Unread => {
    const found = known.get(apiVersion)
    if (found?.kinds.has(kind)) return true
    const isCurrent = found !== undefined && clock.monotonicMs() - found.readMs < MISSING_FOR_MS
    return isCurrent ? false : 'unread'
  }
  return {
    isServed,
    read: async (kinds) => {
      for (const kind of kinds) {
        if (isServed(kind) !== 'unread') continue
        const [group = '', version = ''] = kind.apiVersion.split('/')
        const isPossible = isDnsSubdomain(group) && isDnsLabel(version)
        const served = isPossible ? await readServedKinds(group, version) : null
        if (known.size >= MOST_VERSIONS) known.clear()
        known.set(kind.apiVersion, { kinds: served ?? new Set(), readMs: clock.monotonicMs() })
      }
    },
  }
}

/** A sentence for each reference of the configuration to a kind that the virtual cluster does not serve. */
export async function unservedReferences(
  { kinds }: SyncConfig,
  { isServed, read }: ServedKinds,
): Promise<readonly string[]> {
  const named = Object.values(kinds).flatMap(({ patches }) =>
    patches.flatMap((patch) => {
      if (patch.kind !== 'reference') return []
      const { kind, apiVersion } = patch.reference
      return kind === '' || !apiVersion.includes('/')
        ? []
        : [{ entry: patch.entry, kind, apiVersion }]
    }),
  )
  await read(named)
  return named
    .filter((one) => isServed(one) !== true)
    .map(
      ({ entry, kind, apiVersion }) =>
        `${entry} reference kind ${kind} of ${apiVersion} is not served by the virtual cluster`,
    )
}
