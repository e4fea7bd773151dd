// The product's numbered rules, in short, and the tests that show each: what the table in
// docs/contributing.md is made of.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What each rule is about. Tests name the number in their titles, such as `(2.3)`. */
export const RULES: Readonly<Record<string, string>> = {
  '1.1': 'group, version, scope, names, category',
  '1.2': 'every specified field, optional and described; empty equals absent',
  '1.3': 'types of keys and roles of scopes',
  '1.4': 'what a manifest may say: 422 that tells what to write',
  '1.5': 'the status fields',
  '1.6': 'columns of kubectl get',
  '2.1': 'a key without a ttl, and the default of Login keys',
  '2.2': 'the cap binds every key, spec.ttl is never rewritten',
  '2.3': 'fixed and sliding ends',
  '2.4': 'the life of a token, and what cuts it',
  '2.5': 'a change of the cap counts at once',
  '2.6': 'validity is a comparison, no leeway',
  '2.7': 'status flips within a second; overdue ones earliest first',
  '2.8': 'lifetimes count from when the key was first seen',
  '2.9': 'clocks: never backwards, uses in the future, skew',
  '3.1': 'generated and given keys, one apply with uid',
  '3.2': 'format and checksum of a key',
  '3.3': 'two objects with the same key',
  '3.4': 'lastActivity is not the operator’s',
  '3.5': 'no secret leaks',
  '3.6': 'digests, and keygen',
  '4.1': 'conditions of a key',
  '4.2': 'conditions of a token',
  '4.3': 'conditions of Config',
  '4.4': 'observedGeneration, transition times, kubectl wait, messages',
  '4.5': 'events, on transitions, once',
  '5.1': 'finalizer and deletion',
  '5.2': 'what happens to an expired key',
  '5.3': 'deletes carry uid and resourceVersion',
  '5.4': 'a token and its owner',
  '5.5': 'admission policies',
  '6.1': 'one Config is in force',
  '6.2': 'sources of settings: spec, Secret, other managers, defaults',
  '6.3': 'hidden settings and $NAME',
  '6.4': 'defaults of settings',
  '6.5': 'faults, and the last good settings',
  '6.6': 'a change takes effect within two seconds',
  '6.7': 'parts that are switched on and not built',
  '7.1': 'claims and audiences of a token',
  '7.2': 'the issuer, and stock API servers that verify',
  '7.3': 'signing keys',
  '7.4': 'records of revoked tokens',
  '8.1': 'flags',
  '8.2': 'health and readiness',
  '8.3': 'shutdown',
  '8.4': 'metrics',
  '8.5': 'logs',
  '8.6': 'no unconditional write; an ex-leader wins none',
  '9.1': 'routes of the gateway',
  '9.3': 'the specified path of the settings',
  '9.4': 'clients of Kubernetes work through the gateway',
  '9.7': 'flags and certificate of the gateway',
  '10.1': 'how a key is presented',
  '10.2': 'refusals that say nothing about why',
  '10.3': 'what makes a key good, looked up without a call',
  '10.4': 'nothing passes on stale knowledge',
  '10.5': 'as whom requests run upstream',
  '11.1': 'one decision on every plane',
  '11.2': 'each field of a scope alone',
  '11.3': 'targets by name, and discovery there',
  '11.4': 'roles',
  '11.5': 'rules of a scope',
  '11.6': 'attributes are those of the API server',
  '11.7': 'what outlives the key',
  '11.8': 'a scope within another',
  '12.1': 'own keys and tokens need no right',
  '12.2': 'making a key or a token',
  '12.3': 'a person, and any other key',
  '12.4': 'hidden on every read',
  '12.5': 'patches otherwise as upstream',
  '13.1': 'headers and bodies upstream',
  '13.2': 'upgrades run the same pipeline',
  '13.3': 'streaming, and limits',
  '13.4': 'open streams end with their key',
  '13.5': 'answers tell the end of the key',
  '14.1': 'uses are recorded in time, and never move back',
  '14.2': 'what is recorded alone decides',
  '15': 'metrics of the gateway',
}

const ROOT = join(import.meta.dirname, '..')

/** The test files that name each rule, as `(2.3)`, `(2.3, 2.6)` or `contract 2.3`, by rule. */
export function testsByRule(): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .toSorted()
  const texts = files.map((file) => [file, readFileSync(join(ROOT, 'test', file), 'utf8')] as const)
  return new Map(
    Object.keys(RULES).map((rule) => {
      const number = rule.replace('.', '\\.')
      const named = new RegExp(`(?:\\(|contract )(?:[\\d.]+, )*${number}\\b(?!\\.)`)
      return [rule, texts.filter(([, text]) => named.test(text)).map(([file]) => file)]
    }),
  )
}

/** The table of rules and tests, in Markdown. */
export function rulesMarkdown(): string {
  // Of names that are whole numbers an object is in an order of its own.
  const inOrder = [...testsByRule()].toSorted(([a], [b]) =>
    a.localeCompare(b, 'en', { numeric: true }),
  )
  const rows = inOrder.map(
    ([rule, files]) =>
      `| ${rule} | ${RULES[rule]} | ${files.map((file) => `\`${file}\``).join('<br>')} |`,
  )
  return ['| rule | about | shown by, in `test/` |', '|---|---|---|', ...rows].join('\n')
}
