import { expect, test } from 'vitest'
import { isDnsLabel, isDnsSubdomain } from '../../../src/domain/dns-name.ts'

test.each([
  { text: 'a', label: true, subdomain: true },
  { text: '0-9', label: true, subdomain: true },
  { text: 'a'.repeat(63), label: true, subdomain: true },
  { text: 'a'.repeat(64), label: false, subdomain: true },
  { text: 'a.b-c.d', label: false, subdomain: true },
  { text: `${'a.'.repeat(126)}a`, label: false, subdomain: true },
  { text: `${'a.'.repeat(127)}a`, label: false, subdomain: false },
  ...['', '-a', 'a-', 'A', 'a_b', 'a b', 'ä', 'a\n', '.a', 'a.', 'a..b', 'a.-b'].map((text) => ({
    text,
    label: false,
    subdomain: false,
  })),
])('$text', ({ text, label, subdomain }) => {
  expect([isDnsLabel(text), isDnsSubdomain(text)]).toEqual([label, subdomain])
})
