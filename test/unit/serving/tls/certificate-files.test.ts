import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type CertificatePair,
  type ValidCertificatePair,
  validateCertificatePair,
  followCertificateFiles,
} from '../../../../src/serving/tls/key-pair.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { scratchFolder } from '../../kube/informer/scripted-server.ts'

const NOW_MS = Date.parse('2026-11-21T10:00:00Z')
const LOOK_EVERY_MS = 2000

const [one, two] = [serverPair('one'), serverPair('two')]

/** Follows files in a folder; `names` are the common names of the certificates read so far. */
async function followed(first: CertificatePair) {
  const folder = await scratchFolder()
  const files = { certificateFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  /** Replaces each file atomically, one after the other, like programs that renew certificates. */
  const put = ({ certificatePem, keyPem }: Partial<CertificatePair>): void => {
    for (const [file, text] of [
      [files.certificateFile, certificatePem],
      [files.keyFile, keyPem],
    ] as const) {
      if (text === undefined) continue
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
    }
  }
  put(first)
  return { ...follow(files), put, files }
}

function follow(files: { readonly certificateFile: string; readonly keyFile: string }) {
  const clock = manualClock(NOW_MS)
  const { log, lines } = memoryLog()
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const names: string[] = []
  const take = ({ commonName }: ValidCertificatePair): void => void names.push(commonName)
  followCertificateFiles({ files, clock, log, signal: abort.signal, take })
  const looked = () => clock.advance(LOOK_EVERY_MS)
  const faults = () => lines.map(({ fields }) => fields['because'])
  return { clock, abort, names, looked, faults }
}

describe('certificate files (contract 9.7)', () => {
  test('are served at once, and again only when they change', async () => {
    const it = await followed(one)
    expect(it.names).toEqual(['one'])
    await it.looked()
    it.put(one)
    await it.looked()
    expect(it.names).toEqual(['one'])
    it.put(two)
    await it.looked()
    expect(it.names).toEqual(['one', 'two'])
    expect(it.faults()).toEqual([])
  })

  test('keep the former pair while only one of them is new', async () => {
    const it = await followed(one)
    it.put({ certificatePem: two.certificatePem })
    await it.looked()
    await it.looked()
    expect(it.names).toEqual(['one'])
    expect(it.faults()).toEqual(['the private key does not match the certificate'])
    it.put({ keyPem: two.keyPem })
    await it.looked()
    expect(it.names).toEqual(['one', 'two'])
  })

  test.each<{ name: string; bad: Partial<CertificatePair>; because: RegExp }>([
    {
      name: 'a truncated certificate',
      bad: { certificatePem: two.certificatePem.slice(0, 300) },
      because: /not a PEM certificate/,
    },
    { name: 'an empty certificate', bad: { certificatePem: '' }, because: /not a PEM certificate/ },
    {
      name: 'a truncated key',
      bad: { keyPem: one.keyPem.slice(0, 100) },
      because: /not a PEM private key/,
    },
    { name: 'an empty key', bad: { keyPem: '' }, because: /not a PEM private key/ },
    {
      name: 'a certificate in place of the key',
      bad: { keyPem: one.certificatePem },
      because: /not a PEM private key/,
    },
    {
      name: 'a chain with a damaged rest',
      bad: {
        certificatePem: `${one.certificatePem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      },
      because: /TLS cannot be served/,
    },
  ])(
    'keep the pair before over $name, say so once, and repeat nothing of it',
    async ({ bad, because }) => {
      const it = await followed(one)
      it.put(bad)
      await it.looked()
      await it.looked()
      expect(it.names).toEqual(['one'])
      expect(it.faults()).toEqual([expect.stringMatching(because)])
      expect(JSON.stringify(it.faults())).not.toMatch(/MII|BEGIN/)
      it.put(two)
      await it.looked()
      expect(it.names).toEqual(['one', 'two'])
    },
  )

  test('keep the former pair while a file is missing', async () => {
    const it = await followed(one)
    rmSync(it.files.keyFile)
    await it.looked()
    expect(it.faults()).toEqual([`${it.files.keyFile} cannot be read (ENOENT)`])
    it.put(two)
    await it.looked()
    expect(it.names).toEqual(['one', 'two'])
  })

  test('are followed in a mounted Secret, where a link two levels up changes', async () => {
    const folder = await scratchFolder()
    const mount = (version: string, { certificatePem, keyPem }: CertificatePair): void => {
      mkdirSync(join(folder, version))
      writeFileSync(join(folder, version, 'tls.crt'), certificatePem)
      writeFileSync(join(folder, version, 'tls.key'), keyPem)
      symlinkSync(version, join(folder, '..data_tmp'))
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    mount('..2026_1', one)
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name))
    const it = follow({
      certificateFile: join(folder, 'tls.crt'),
      keyFile: join(folder, 'tls.key'),
    })
    mount('..2026_2', two)
    await it.looked()
    expect(it.names).toEqual(['one', 'two'])
    unlinkSync(join(folder, '..data'))
    await it.looked()
    expect(it.faults()).toEqual([expect.stringContaining('tls.crt cannot be read (ENOENT)')])
  })

  test('are no longer read after the process stops', async () => {
    const it = await followed(one)
    it.abort.abort()
    it.put(two)
    await it.looked()
    expect(it.names).toEqual(['one'])
    expect(it.clock.pending()).toBe(0)
  })

  test('must be valid at the start', async () => {
    await expect(followed({ ...one, keyPem: two.keyPem })).rejects.toThrow(
      '--tls-cert-file and --tls-private-key-file: the private key does not match the certificate',
    )
  })
})

test('a chain is served with the certificate that comes first', () => {
  const chain = { ...one, certificatePem: one.certificatePem + two.certificatePem }
  expect(validateCertificatePair(chain)).toMatchObject({
    commonName: 'one',
    certificatePem: chain.certificatePem,
  })
})
