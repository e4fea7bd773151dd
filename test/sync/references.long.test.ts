// Secrets and ConfigMaps that references name: these are synced to the host, and no others.
import { describe, expect, test } from 'vitest'
import { CONFIG_MAPS, ENDPOINTS, type Resource, SECRETS, SERVICES } from '../../src/api/names.ts'
import { auditOf } from '../support/audit-log.ts'
import { SYNCER_USER } from '../support/sync-planes.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { type Draft, SELECTORLESS, endpointsAt } from '../support/sync-side.ts'
import { NO_WRITES, expectUntouched, syncPlanes } from '../support/sync-world.ts'

const annotation = (key: string) => `metadata.annotations["example.com/${key}"]`
const planes = await syncPlanes()
const world = await fileWorld(planes, {
  endpoints: {
    patches: [
      { path: annotation('Secret'), reference: { apiVersion: 'v1', kind: 'Secret' } },
      { path: annotation('ConfigMap'), reference: { apiVersion: 'v1', kind: 'ConfigMap' } },
    ],
  },
  secrets: { patches: [{ path: 'data.url', expression: 'btoa("jdbc:" + atob(value))' }] },
})
const { virtual, host, hostRef, at } = world
const audits = { virtual: auditOf(planes.virtual), host: auditOf(planes.host) }
const start = await world.mark()
let syncer = await world.start()

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Endpoints that name an object of this kind, and their Service. */
async function refer(name: string, kind: string, named: string | null): Promise<void> {
  const annotations = { [`example.com/${kind}`]: named }
  if ((await virtual.read(ENDPOINTS, at(name))) !== null) {
    await virtual.patch(ENDPOINTS, at(name), { metadata: { annotations } })
    return
  }
  await virtual.create(SERVICES, at(name), SELECTORLESS)
  await virtual.create(ENDPOINTS, at(name), {
    ...endpointsAt('10.9.0.1'),
    metadata: { annotations },
  })
}

// biome-ignore format: a table
const KINDS: readonly { kind: string; resource: Resource; draft: Draft; wanted: object; changed: object; wantedThen: object }[] = [
  { kind: 'Secret', resource: SECRETS, draft: { data: { url: base64('a'), key: base64('b') } }, wanted: { type: 'Opaque', data: { url: base64('jdbc:a'), key: base64('b') } }, changed: { data: { key: base64('c') } }, wantedThen: { data: { key: base64('c') } } },
  { kind: 'ConfigMap', resource: CONFIG_MAPS, draft: { data: { key: 'b' }, binaryData: { bin: base64('x') } }, wanted: { data: { key: 'b' }, binaryData: { bin: base64('x') } }, changed: { data: { key: 'c' } }, wantedThen: { data: { key: 'c' } } },
]

describe.each(KINDS)('a $kind', ({ kind, resource, draft, wanted, changed, wantedThen }) => {
  const prefix = kind.toLowerCase()

  test('is synced once it is named, follows, and goes when nothing names it (16.2, 19.5)', async () => {
    const ref = at(`${prefix}-named`)
    const before = await virtual.create(resource, ref, draft)
    await world.caughtUp(syncer)
    expect(await host.read(resource, hostRef(ref))).toBeNull()

    await refer(`${prefix}-one`, kind, ref.name)
    await host.shows(resource, hostRef(ref), wanted)
    await host.shows(ENDPOINTS, hostRef(at(`${prefix}-one`)), {
      metadata: { annotations: { [`example.com/${kind}`]: hostRef(ref).name } },
    })
    await expectUntouched(virtual, resource, before)
    const after = await virtual.patch(resource, ref, changed)
    await host.shows(resource, hostRef(ref), wantedThen)

    await refer(`${prefix}-two`, kind, ref.name)
    await host.shows(ENDPOINTS, hostRef(at(`${prefix}-two`)), {})
    await refer(`${prefix}-one`, kind, null)
    await world.caughtUp(syncer)
    await host.get(resource, hostRef(ref))
    await virtual.remove(ENDPOINTS, at(`${prefix}-two`))
    await host.gone(resource, hostRef(ref))
    await expectUntouched(virtual, resource, after)
  })

  test('that comes after what names it, and is deleted, and comes again (19.5)', async () => {
    const ref = at(`${prefix}-later`)
    await refer(`${prefix}-early`, kind, ref.name)
    await host.shows(ENDPOINTS, hostRef(at(`${prefix}-early`)), {})
    await virtual.create(resource, ref, draft)
    const { metadata } = await host.shows(resource, hostRef(ref), wanted)
    await virtual.remove(resource, ref)
    await host.gone(resource, hostRef(ref))
    await virtual.create(resource, ref, draft)
    const again = await host.shows(resource, hostRef(ref), wanted)
    expect(again.metadata.uid).not.toBe(metadata.uid)
  })

  test('that drifts or is deleted on the host is made good, and nothing flows back (18.3, 18.5)', async () => {
    const ref = at(`${prefix}-drift`)
    const before = await virtual.create(resource, ref, draft)
    await refer(`${prefix}-drifting`, kind, ref.name)
    await host.shows(resource, hostRef(ref), wanted)
    await host.patch(resource, hostRef(ref), { data: { key: null, other: base64('evil') } })
    const { metadata, ...seen } = await host.shows(resource, hostRef(ref), wanted)
    expect(Object.keys(seen['data'] as object)).not.toContain('other')
    await host.remove(resource, hostRef(ref))
    await host.until(
      resource,
      hostRef(ref),
      'is another',
      (now) => now.metadata.uid !== metadata.uid,
    )
    await expectUntouched(virtual, resource, before)
  })

  test('whose name a foreign object has on the host is left alone, also after nothing names it (16.3)', async () => {
    const ref = at(`${prefix}-foreign`)
    const foreign = await host.create(resource, hostRef(ref), { data: { key: base64('foreign') } })
    const before = await virtual.create(resource, ref, draft)
    await refer(`${prefix}-unlucky`, kind, ref.name)
    await virtual.event(before, 'NameTaken')
    await refer(`${prefix}-unlucky`, kind, null)
    await world.caughtUp(syncer)
    await expectUntouched(host, resource, foreign)
    await refer(`${prefix}-unlucky`, kind, ref.name)
    await host.remove(resource, hostRef(ref))
    await host.shows(resource, hostRef(ref), wanted)
    await expectUntouched(virtual, resource, before)
  })

  test('that is immutable is created again when another takes its name (18.3)', async () => {
    const ref = at(`${prefix}-frozen`)
    await virtual.create(resource, ref, { ...draft, immutable: true })
    await refer(`${prefix}-freezing`, kind, ref.name)
    const { metadata } = await host.shows(resource, hostRef(ref), { ...wanted, immutable: true })
    await virtual.remove(resource, ref)
    await virtual.create(resource, ref, { data: { key: base64('d') } })
    const after = await host.shows(resource, hostRef(ref), { data: { key: base64('d') } })
    expect(after.metadata.uid).not.toBe(metadata.uid)
  })

  test('whose reference goes while no syncer runs stays without list rights, or goes (16.2)', async () => {
    const ref = at(`${prefix}-unseen`)
    await virtual.create(resource, ref, draft)
    await refer(`${prefix}-unseen`, kind, ref.name)
    await host.shows(resource, hostRef(ref), wanted)
    await syncer.stop()
    await virtual.remove(resource, ref)
    syncer = await world.start()
    // A reference still names it, so the syncer reads it and sees that it is gone.
    expect(await host.gone(resource, hostRef(ref))).toBeUndefined()
  })
})

test('Secrets and ConfigMaps are read by their names only without `all` (20)', async () => {
  await world.caughtUp(syncer)
  for (const side of ['virtual', 'host'] as const) {
    const lines = (await audits[side].linesSince(start[side], SYNCER_USER))
      .map(
        (line) =>
          JSON.parse(line) as {
            verb: string
            requestURI: string
            objectRef?: { resource?: string }
          },
      )
      .filter(
        ({ verb, objectRef }) =>
          /^(?:list|watch)$/.test(verb) &&
          /^(?:secrets|configmaps)$/.test(objectRef?.resource ?? ''),
      )
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter(({ verb }) => verb === 'list')).toEqual([])
    expect(
      lines.filter(({ requestURI }) => !requestURI.includes('fieldSelector=metadata.name')),
    ).toEqual([])
  }
})

test('a syncer at rest writes nothing (19.7)', async () => {
  await world.caughtUp(syncer)
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})
