// A forwarded body, with a call for each chunk of it (contract 13.3, 14.1).
import type { Readable } from 'node:stream'
import { PassedBody } from './passed-body.ts'

/** The same body; calls `flowed` for each chunk. */
export class ObservedBody extends PassedBody {
  constructor(source: Readable, flowed: () => void) {
    super(source)
    source.on('data', () => flowed())
  }
}
