import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs a file of this directory in a process of its own. @returns its parsed output */
export async function runParticipant<R>(file: string, task: object): Promise<R> {
  const path = join(import.meta.dirname, file)
  const args = ['--conditions=@waybill/source', '--no-warnings', path, JSON.stringify(task)]
  const { stdout } = await run(process.execPath, args)
  return JSON.parse(stdout) as R
}

/** Reads the arguments of a participant. */
export function givenTask(): unknown {
  return JSON.parse(process.argv[2] ?? '')
}

/** Prints the result of a participant and exits, whatever is still open. */
export function answer(result: object): never {
  process.stdout.write(`${JSON.stringify(result)}\n`)
  process.exit(0)
}
