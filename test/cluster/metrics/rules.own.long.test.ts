// The alerting rules in promtool, without a control plane.
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { findPrometheus } from '../../../tools/prometheus/programs.ts'
import { RULES_FILE, RULE_TESTS, alerts } from '../../support/monitoring.ts'
import { programsOrSkip, promtool } from '../../support/prometheus-server.ts'

const found = await findPrometheus(console.log)

test('the rules pass promtool check rules (8.4)', async ({ skip }) => {
  const programs = programsOrSkip(found, skip)
  const { code, printed } = await promtool(programs, ['check', 'rules', RULES_FILE])
  expect(printed).toContain(`SUCCESS: ${alerts().length} rules found`)
  expect(code).toBe(0)
})

const files = RULE_TESTS.map((file) => [basename(file), file] as const)

test.for(files)('promtool test rules: %s (8.4)', async ([, file], { skip }) => {
  const programs = programsOrSkip(found, skip)
  const { code, printed } = await promtool(programs, ['test', 'rules', file])
  expect(printed.trim()).toMatch(/SUCCESS$/)
  expect(code).toBe(0)
})
