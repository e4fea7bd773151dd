import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Subjects of files where one failure in a hundred is a defect; project `faults` does not retry either. */
const SUBJECTS =
  /attack|attribution|aborted-bodies|canar|caller-isolation|revo|expir|lifetime|retention|measured|truncated|ended-keys|clamped|closed|stale|stepped|restored|\/ends|endings|targets-under-load|claim\/rotation|cluster\/claims|cluster\/secret-store|delivery\/store\/client(?:-bounds)?\.|delivery\/claims\/(?:changes|faults|reconcile|two-processes)|helm-upgrade|helm-rollback|sessions-under-load|audit-policy|gateway\/people|sign-in-commands|commands\/(?:sessions|login\/commands)|oidc\/(?:forgery|discovery|refresh-faults|token-refresh)|providers\/(?:outgoing|source-host-a\/|idp-a\/directory|saml\/(?:conditions|documents|message|rules|signatures|status|tampering|wrapping))|routes\/connectors|direct\/(?:direct-endpoint|webhook|outage)/
const TAG = '/** @module-tag no-retry */\n'
/** The lifetime of the tests' control plane is no credential. */
const OTHERS = 'cluster/control-plane-lifetime.own.long.test.ts'

test('files about attacks, attribution, canaries, revocation and expiry are not retried', () => {
  const root = join(import.meta.dirname, '../..')
  const files = globSync('{unit,cluster,direct}/**/*.test.ts', { cwd: root })
  const wanted = files.filter((file) => SUBJECTS.test(file) && file !== OTHERS)
  const tagged = files.filter((file) => readFileSync(join(root, file), 'utf8').startsWith(TAG))
  expect(tagged.length).toBeGreaterThan(30)
  expect(tagged.toSorted()).toEqual(wanted.toSorted())
})
