// Measures how a body is recorded beside what V8 needs for its text, in a thread of its own.
import { parentPort, workerData } from 'node:worker_threads'
import { readCopy, recordCopy } from '../../../../src/gateway/audit/record-body.ts'
import { cpuRatio } from '../../../support/cpu-ratio.ts'
import { RECORD_CONTEXT, messageOf } from './recorded-message.ts'

/** What is measured. */
export interface RecordMeasure {
  readonly text: string
  /** As for cpuRatio. */
  readonly most: number
}

const { text, most } = workerData as RecordMeasure
const message = messageOf(text)
const recorded = async () => recordCopy(await readCopy(message), RECORD_CONTEXT)
const native = () => JSON.stringify(JSON.parse(message.body.bytes.toString()))

const port = parentPort
if (port === null) throw new Error('this file is the program of a worker thread')
port.postMessage(await cpuRatio(recorded, native, most))
