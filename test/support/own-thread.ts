// A measurement in a thread of its own: code that other tests have shaped, and their heap, count for nothing there.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Runs the program of a worker thread with this input. @returns the first message that it posts */
export async function inOwnThread<Result>(program: URL, workerData: unknown): Promise<Result> {
  await using worker = new Worker(program, { workerData })
  const [result] = (await once(worker, 'message')) as [Result]
  return result
}
