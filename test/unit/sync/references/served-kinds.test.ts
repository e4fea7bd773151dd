import { describe, expect, test } from 'vitest'
import { checkSyncConfig } from '../../../../src/sync/config/config.ts'
import {
  createServedKinds,
  unservedReferences,
} from '../../../../src/sync/references/served-kinds.ts'
import { manualClock } from '../../../support/manual-clock.ts'

/** A virtual cluster that serves Deployments, and whose requests are recorded. */
function cluster() {
  const clock = manualClock(0)
  const versions = new Map([['apps/v1', ['Deployment']]])
  const asked: string[] = []
  const served = createServedKinds((group, version) => {
    const name = `${group}/${version}`
    asked.push(name)
    const kinds = versions.get(name)
    return Promise.resolve(kinds ? new Set(kinds) : null)
  }, clock)
  return { clock, versions, asked, served }
}

const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' }
const widget = { apiVersion: 'example.com/v1', kind: 'Widget' }

describe('the kinds that the virtual cluster serves', () => {
  test('are unknown until they are read, and are then asked for once (19.5)', async () => {
    const { asked, served } = cluster()
    expect(served.isServed(deployment)).toBe('unread')
    await served.read([deployment, deployment])
    await served.read([deployment])
    expect(served.isServed(deployment)).toBe(true)
    expect(served.isServed({ ...deployment, kind: 'Missing' })).toBe(false)
    expect(asked).toEqual(['apps/v1'])
  })

  test('are asked for again where one is missing: it may be installed later (19.5)', async () => {
    const { clock, versions, served } = cluster()
    await served.read([widget])
    expect(served.isServed(widget)).toBe(false)
    versions.set('example.com/v1', ['Widget'])
    await clock.advance(9999)
    await served.read([widget])
    expect(served.isServed(widget)).toBe(false)
    await clock.advance(1)
    expect(served.isServed(widget)).toBe('unread')
    await served.read([widget])
    expect(served.isServed(widget)).toBe(true)
  })

  test.each(['../v1', 'apps/..', 'apps/v1?x', 'a b/v1', '/v1', 'apps/'])(
    'the version %s is not asked for: it would be another path (19.5)',
    async (apiVersion) => {
      const { asked, served } = cluster()
      await served.read([{ apiVersion, kind: 'Deployment' }])
      expect(served.isServed({ apiVersion, kind: 'Deployment' })).toBe(false)
      expect(asked).toEqual([])
    },
  )

  test('give a fault for each reference of the configuration to another kind (19.5)', async () => {
    const { asked, served } = cluster()
    const reference = (path: string, given: object) => ({ path, reference: given })
    const { config, faults } = checkSyncConfig({
      sync: {
        toHost: {
          configMaps: {
            patches: [
              reference('data.a', { kind: 'Secret' }),
              reference('data.b', widget),
              reference('data.c', deployment),
              reference('data.d', { namePath: 'name', kindPath: 'kind', ...deployment }),
              reference('data.e', { namePath: 'name', kindPath: 'kind' }),
            ],
          },
        },
      },
    })
    expect(faults).toEqual([])
    if (config === null) throw new Error('the configuration is valid')
    expect(await unservedReferences(config, served)).toEqual([
      'sync.toHost.configMaps.patches[1] reference kind Widget of example.com/v1 is not served by the virtual cluster',
    ])
    expect(asked).toEqual(['example.com/v1', 'apps/v1'])
  })
})
