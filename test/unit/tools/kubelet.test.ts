import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { X509Certificate } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { KUBELET_CLIENT_FILES } from '../../../tools/control-plane/commands.ts'
import { ensurePki } from '../../../tools/control-plane/pki.ts'

const TOOLS = join(import.meta.dirname, '../../../tools')

/** The version of each module that a go.mod names. */
const versionsIn = (tool: string): ReadonlyMap<string, string> => {
  const lines = readFileSync(join(TOOLS, tool, 'go.mod'), 'utf8').matchAll(
    /^(?:require)?\s*([\w./-]+) (v\S+)/gm,
  )
  return new Map([...lines].map(([, name = '', version = '']) => [name, version]))
}

test("the kubelet's modules have the versions of the control plane's, so that they are compiled once", () => {
  const ours = versionsIn('kubelet')
  const theirs = versionsIn('control-plane')
  const shared = [...ours].filter(([name]) => theirs.has(name))
  expect(shared.length).toBeGreaterThan(20)
  expect(shared.filter(([name, version]) => theirs.get(name) !== version)).toEqual([])
  expect(ours.get('k8s.io/cri-streaming')).toBe(ours.get('k8s.io/api'))
})

test("a folder of certificates that lacks the API server's for kubelets gets it, and keeps the others", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pki-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const pki = join(folder, 'pki')
  const read = (file: string): string => readFileSync(join(pki, file), 'utf8')
  await ensurePki(pki)
  const authority = read('ca.crt')
  for (const suffix of ['crt', 'key']) rmSync(join(pki, `${KUBELET_CLIENT_FILES}.${suffix}`))
  await ensurePki(pki)
  expect(existsSync(join(pki, `${KUBELET_CLIENT_FILES}.key`))).toBe(true)
  expect(read('ca.crt')).toBe(authority)
  const certificate = new X509Certificate(read(`${KUBELET_CLIENT_FILES}.crt`))
  expect(certificate.verify(new X509Certificate(authority).publicKey)).toBe(true)
})
