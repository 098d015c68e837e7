/** Contestants in processes of their own: on Node, or a task of the Java peers. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { javaCommand } from '../java-project.ts'
import { type PassResult, type PassTask, parsePasses } from './pass-result.ts'

const run = promisify(execFile)
/** The flags of every contestant on Node. */
export const nodeFlags = ['--conditions=@waybill/source', '--no-warnings', '--expose-gc']

/** Options of a Java task beyond those of all. */
export type JavaArgs = Readonly<Record<string, string | number>>

/** Runs a participant on Node; the task is its only argument. */
export function runNode(participant: string, task: PassTask): Promise<PassResult[]> {
  return runPasses(process.execPath, [...nodeFlags, participant, JSON.stringify(task)], task)
}

/** Runs a task of bench/peers/java. */
export function runJavaPasses(name: string, task: PassTask, args: JavaArgs): Promise<PassResult[]> {
  const { topics, records, reads, waitSeconds } = task
  const java = javaCommand(name, { topics: topics.join(','), count: records, reads, wait: waitSeconds, ...args })
  return runPasses(java.command, java.args, task)
}

async function runPasses(command: string, args: readonly string[], task: PassTask): Promise<PassResult[]> {
  const startMs = 60_000
  const timeout = startMs + task.topics.length * task.waitSeconds * 1_000
  try {
    const { stdout } = await run(command, [...args], { timeout, maxBuffer: 64 * 1024 * 1024 })
    const passes = parsePasses(stdout)
    if (passes.length === task.topics.length) return passes
  } catch (error) {
    const { stderr = '', message, killed } = error as Error & { stderr?: string; killed?: boolean }
    const reason = stderr.trim().split('\n').at(-1) || message.split('\n')[0]
    throw new Error(killed === true ? `ended after ${timeout / 1_000} s` : `failed: ${reason}`, { cause: error })
  }
  throw new Error('ended before its last pass')
}
