/** @module-tag no-retry */
// Whom the delivery process takes for the store: certificates, their authorities, skipTLSVerify, and http (contract 36.1).
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serverPair } from '../../support/certificate-builder.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type KvStoreOptions, startKvStore } from '../../support/kv-store/kv-store.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { serveStore } from './served-store.ts'
import { PLATFORM_TOKEN, type Project, createProject, storeProgram } from './store-world.ts'

const HOUR_MS = 3_600_000
const INSECURE = 'skipTLSVerify is on: anybody on the way can read the token.'

const program = await storeProgram()
const plane = await privateControlPlane()
const caFile = join(plane.dataDir, 'authority-of-the-store.pem')
const certificate = serverPair('a store of secrets')
const served = serveStore(plane, program, {
  certificate,
  delivery: () => ({ flags: [`--secret-store-ca-file=${caFile}`] }),
})
writeFileSync(caFile, certificate.caPem)
let web: Project

prepareWith([program], async () => {
  web = await createProject(plane)
  await served().says('Synced', '0')
})

const untilLogged = (text: string): Promise<void> =>
  eventuallyPasses(
    `the log says ${text}`,
    () => expect(JSON.stringify(served().delivery().logs())).toContain(text),
    { withinMs: 30_000 },
  )

/** Serves another store, and declares it with a token. */
async function another(options: KvStoreOptions) {
  const store = await startKvStore(program, options)
  const { declare, setToken } = served()
  const token = await store.makeToken(PLATFORM_TOKEN)
  onTestFinished(async () => {
    await setToken(await served().store.makeToken(PLATFORM_TOKEN))
    await declare()
    await served().says('Synced')
    await store[Symbol.asyncDispose]()
  })
  await setToken(token)
  return store
}

test('the authority is read again when its file changes; without it no store is trusted (36.1)', async () => {
  const { says, delivery } = served()
  writeFileSync(caFile, serverPair('another store').caPem)
  await says('Unreachable', 'The store does not answer')
  await untilLogged('--secret-store-ca-file names the issuers')
  writeFileSync(caFile, certificate.caPem)
  await says('Synced')
  rmSync(caFile)
  await served().restart()
  await says('Unreachable', 'The file of --secret-store-ca-file is missing or empty')
  writeFileSync(caFile, certificate.caPem)
  expect((await says('Synced')).status).toBe('True')
  expect(JSON.stringify(delivery().logs())).not.toContain('hvs.')
})

test('skipTLSVerify: any certificate will do, and the condition says so (36.1)', async () => {
  const { store, declare, says } = served()
  writeFileSync(caFile, serverPair('another store').caPem)
  await says('Unreachable')
  await declare({ skipTLSVerify: true })
  expect(await says('Synced', INSECURE)).toMatchObject({ status: 'True' })
  await store.put(`${web.name}/insecure`, { a: '1' })
  await web.create('insecure', { direction: 'Pull' })
  await web.has('insecure', { a: '1' })
  await declare({ skipTLSVerify: false })
  expect((await says('Unreachable')).message).not.toContain('skipTLSVerify')
  expect(await web.texts('insecure')).toEqual({ a: '1' })
  writeFileSync(caFile, certificate.caPem)
  await says('Synced')
  await web.remove('insecure')
})

describe('a store with a certificate', () => {
  test.each([
    {
      name: 'that has expired',
      parts: { nowMs: Date.now() - 2 * HOUR_MS, validMs: HOUR_MS },
      code: 'CERT_HAS_EXPIRED',
    },
    {
      name: 'that is valid from tomorrow on',
      parts: { nowMs: Date.now() + 24 * HOUR_MS },
      code: 'CERT_NOT_YET_VALID',
    },
    {
      name: 'for another host',
      parts: { hosts: ['store.example.com'] },
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
  ])('$name: Unreachable, and it gets no token (36.1)', async ({ parts, code }) => {
    const { declare, says } = served()
    const pair = serverPair('a store of secrets', parts)
    const store = await another({ certificate: pair })
    writeFileSync(caFile, certificate.caPem + pair.caPem)
    await declare({ address: store.url })
    expect((await says('Unreachable')).status).toBe('False')
    await untilLogged(code)
    expect(await store.requests()).toEqual([])
    await declare({ address: store.url, skipTLSVerify: true })
    expect((await says('Synced', INSECURE)).status).toBe('True')
    writeFileSync(caFile, certificate.caPem)
  })
})

test('http to a loopback host works, and nothing else by http (36.1)', async () => {
  const { declare, says } = served()
  const store = await another({ scheme: 'http' })
  await declare({ address: store.url })
  await store.put(`${web.name}/plain`, { a: '1' })
  await web.create('plain', { direction: 'Pull' })
  await web.has('plain', { a: '1' })
  await says('Synced')
  await declare({ address: store.url.replace('127.0.0.1', '127.0.0.1.example.com') })
  expect((await says('AddressMissing', 'write https')).status).toBe('False')
  await web.remove('plain')
})
