// Measures the turns of a batch in a thread of its own: beside other tests, code that they have shaped and their heap count as well.
import { parentPort, workerData } from 'node:worker_threads'
import { cpuMsOf } from '../../../support/cpu-ratio.ts'
import { centre } from './agent-centre.ts'

/** What is measured: a batch beside the parsing of a text. */
export interface TurnsMeasure {
  readonly text: string
  readonly floor: string
  /** Measured again while the longest turn takes as many times as long as the floor. */
  readonly most: number
}

/** What was measured. */
export interface MeasuredTurns {
  readonly statuses: readonly number[]
  /** The fewest that a batch took. */
  readonly turns: number
  /** CPU time of the longest turn, as a multiple of the floor's. */
  readonly ratio: number
}

const LEAST_RUNS = 3
const MOST_RUNS = 50

/** The turns that a batch takes, and the CPU time of this thread in the longest one, in milliseconds. */
async function turnsOf(text: string) {
  const agents = centre({ bodyLimit: 1024 ** 2, isMoving: true })
  const answered = new AbortController()
  const answer = agents.send(text).finally(() => answered.abort())
  let turns = 0
  let longestMs = 0
  for (let before = process.threadCpuUsage(); !answered.signal.aborted; turns += 1) {
    await new Promise(setImmediate)
    const { user, system } = process.threadCpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1000)
    before = process.threadCpuUsage()
  }
  const { status } = await answer
  return { status, turns, longestMs }
}

async function measured({ text, floor, most }: TurnsMeasure): Promise<MeasuredTurns> {
  const statuses = new Set<number>()
  let [turns, turnMs, floorMs] = [Infinity, Infinity, Infinity]
  // Both grow beside other processes, which take the caches for seconds: the shortest of many runs count.
  for (let run = 0; run < LEAST_RUNS || (run < MOST_RUNS && turnMs >= most * floorMs); run += 1) {
    const ran = await turnsOf(text)
    statuses.add(ran.status)
    turns = Math.min(turns, ran.turns)
    turnMs = Math.min(turnMs, ran.longestMs)
    floorMs = Math.min(floorMs, await cpuMsOf(() => JSON.parse(floor)))
  }
  return { statuses: [...statuses], turns, ratio: turnMs / floorMs }
}

const port = parentPort
if (port === null) throw new Error('this file is the program of a worker thread')
port.postMessage(await measured(workerData as TurnsMeasure))
