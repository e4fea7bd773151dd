// Tables of writes as tests: each row on each way to write.
import { expect, test } from 'vitest'
import type { Resource } from '../../../src/api/names.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { isWhole, sampled } from '../../support/tier.ts'
import {
  CHANGES,
  CREATIONS,
  type Manifest,
  type Row,
  type Way,
  type Written,
  sender,
} from './ways.ts'

/** On which ways a table is tested. */
export interface Ways {
  /** Absent: on all. */
  readonly isMeant?: (way: Way) => boolean
  /** In `make test` each row takes one way of sending, the next row the next. */
  readonly oneInQuick?: true
}

/** Makes tests of a table; its callers must be known. */
export type TestTable<Caller extends string> = (
  resource: Resource,
  rows: readonly Row<Caller>[],
  ways?: Ways,
) => void

/** Tests tables on a control plane. kubectl is slow: in `make test` it takes a few rows of each. */
export function tableTester<Caller extends string>(
  plane: TestControlPlane,
  kubeconfigOf: (by: Caller) => string,
): TestTable<Caller> {
  const send = sender(plane)
  return (resource, rows, { isMeant = () => true, oneInQuick } = {}) => {
    const byKubectl = new Set(sampled(rows, oneInQuick ? rows.length : 6, 1))
    const cases = rows.flatMap((row, at) => {
      const ways = (row.from ? CHANGES : CREATIONS).filter(isMeant)
      const sent = ways.filter((way) => way !== 'kubectl apply')
      const fast = isWhole || !oneInQuick ? sent : [sent[at % sent.length]]
      return ways
        .filter((way) => (way === 'kubectl apply' ? byKubectl.has(row) : fast.includes(way)))
        .map((way) => ({
          ...row,
          way,
          does: `${row.by} ${row.refused ? 'may not' : 'may'} ${row.from ? 'change' : 'make'}`,
        }))
    })
    test.concurrent.each(cases)('$does $name by $way', async ({ way, by, refused, ...write }) => {
      const written = await send(way, { ...write, resource, kubeconfig: kubeconfigOf(by) })
      expect(written).toEqual(expected(write, refused))
    })
  }
}

function expected(
  { from, to }: Pick<Row<string>, 'from' | 'to'>,
  refused: Row<string>['refused'],
): Written {
  if (!refused) return { code: from ? 200 : 201, message: '', stored: whole(to) }
  const message: string = expect.stringContaining(`denied request: ${refused.says}`)
  return { code: refused.code, message, stored: from ? whole(from) : null }
}

const whole = ({ metadata = {}, spec }: Manifest): Manifest => ({ metadata, spec })
