// `management-operator kubeconfig` writes a kubeconfig for a key that it reads from standard input.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { keyFault, kubeconfigText } from '../../../../src/commands/kubeconfig/command.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { programArgs } from '../../../support/command-process.ts'

const KEY = `pak_${'a1'.repeat(25)}`
const SERVER = 'https://platform.example.com/kubernetes/management'
const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
afterAll(() => rmSync(folder, { recursive: true }))

const run = (input: string, ...flags: readonly string[]) =>
  spawnSync(process.execPath, [...programArgs(), 'kubeconfig', ...flags], {
    input,
    encoding: 'utf8',
  })

describe('management-operator kubeconfig', () => {
  test('a kubeconfig has the address, the authority and the key, in one context', () => {
    const caFile = join(folder, 'ca.crt')
    const { caPem } = serverPair('gateway')
    writeFileSync(caFile, caPem)
    const flags = [`--server=${SERVER}/`, '--name=ci', `--ca-file=${caFile}`]
    const { status, stdout, stderr } = run(`${KEY}\n`, ...flags)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(parse(stdout)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'ci',
          cluster: {
            server: SERVER,
            'certificate-authority-data': Buffer.from(caPem).toString('base64'),
          },
        },
      ],
      users: [{ name: 'ci', user: { token: KEY } }],
      contexts: [{ name: 'ci', context: { cluster: 'ci', user: 'ci' } }],
      'current-context': 'ci',
    })
  })

  test('the file is readable by its owner alone, and an existing file stays as it is', () => {
    const file = join(folder, 'ci.kubeconfig')
    const flags = [`--server=${SERVER}`, `--output-file=${file}`]
    expect(run(KEY, ...flags)).toMatchObject({ status: 0, stdout: '', stderr: '' })
    const text = readFileSync(file, 'utf8')
    expect(text).toBe(kubeconfigText({ server: SERVER, name: 'platform', ca: null }, KEY))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const again = run(`pak_${'b2'.repeat(25)}`, ...flags)
    expect(again.status).toBe(1)
    expect(again.stderr).toBe(`management-operator kubeconfig: ${file} exists, remove it first\n`)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('every fault of the command line is named at once', () => {
    const { status, stdout, stderr } = run(KEY, '--server=http://platform', '--ca-file=/dev/null')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain('--server is "http://platform", accepted is an https URL')
    expect(stderr).toContain('--ca-file: /dev/null has no certificate in PEM')
    expect(run(KEY).stderr).toContain('--server is required, an https URL such as')
  })

  test.each([
    { name: 'nothing', given: '\n', says: 'standard input has no access key' },
    { name: 'a digest', given: `sha256:${'0'.repeat(64)}`, says: 'keygen prints the key beside' },
    { name: 'two lines', given: `${KEY}\n${KEY}`, says: 'is not an access key' },
    { name: 'a header', given: `Bearer ${KEY}`, says: 'is not an access key' },
    { name: 'a key that is too long', given: 'a'.repeat(5000), says: 'is not an access key' },
  ])('$name on standard input is refused, and not shown', ({ given, says }) => {
    const { status, stdout, stderr } = run(given, `--server=${SERVER}`)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr).not.toContain(KEY)
    expect(keyFault(given)).toContain(says)
  })
})
