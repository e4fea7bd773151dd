// The table of labels and annotations that decide something on a host, for docs/endpoint-sync.md.
import { HOST_MEANINGS, type HostMeaning } from '../../src/sync/objects/host-meanings.ts'
import { MARK_PREFIX } from '../../src/sync/objects/mark-keys.ts'

/** All rows except the syncer's own marks, which have a table of their own. */
export const hostMeaningsTable = (): string =>
  [
    '| of | key | on the host | because otherwise |',
    '|---|---|---|---|',
    ...HOST_MEANINGS.filter((one) => !one.keys.some((key) => key.startsWith(MARK_PREFIX))).map(row),
  ].join('\n')

function row({ keys, domains, fields, becomes, because }: HostMeaning): string {
  const names = [
    ...keys.map((key) => `\`${key}\``),
    ...domains.map((domain) => `all of \`${domain}\``),
  ]
  const onHost = becomes === 'nothing' ? 'does not cross' : 'another key'
  return `| ${fields.join(', ')} | ${names.join(', ')} | ${onHost} | ${because} |`
}
