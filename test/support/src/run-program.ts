import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { endInput } from './program-input.ts'

/** A program's exit code, null if a signal ended it, and everything it printed. */
export interface ProgramResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Settings of a program beside its arguments. */
export interface ProgramOptions {
  /** Text for its standard input. @defaultValue nothing */
  readonly input?: string
  /** @defaultValue the working folder of the tests */
  readonly cwd?: string
  /** @defaultValue the environment of the tests */
  readonly env?: NodeJS.ProcessEnv
}

/** Runs a program until it exits. Returns undefined if the machine does not have it. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { input = '', ...options }: ProgramOptions = {},
): Promise<ProgramResult | undefined> {
  const child = spawn(command, args, { ...options, stdio: 'pipe' })
  try {
    await once(child, 'spawn')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const closed = once(child, 'close')
  endInput(child.stdin, input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, stdout, stderr }
}
