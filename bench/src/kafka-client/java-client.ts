/** The Java client on the same tasks, where Java and Maven are present. */

import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const project = join(import.meta.dirname, '..', '..', 'peers', 'java')

/** Builds it once. Answers why it cannot be built, or undefined. */
export async function prepareJava(): Promise<string | undefined> {
  try {
    await access(join(project, 'target', 'lib'))
    return undefined
  } catch {
    // Not built yet.
  }
  try {
    await run('mvn', [
      '-q',
      '-B',
      '-f',
      join(project, 'pom.xml'),
      'package',
      'dependency:copy-dependencies',
      '-DoutputDirectory=target/lib',
    ])
    return undefined
  } catch (error) {
    return `Maven cannot build the Java peer: ${(error as Error).message.split('\n')[0]}`
  }
}

/** Runs one task and answers what it printed. */
export async function runJava(task: string, args: Readonly<Record<string, string | number>>): Promise<string> {
  const classPath = `${join(project, 'target', 'peers-1.jar')}:${join(project, 'target', 'lib', '*')}`
  const flags = ['-Xmx1g', '-Dorg.slf4j.simpleLogger.defaultLogLevel=off', '-cp', classPath, 'peers.Main', task]
  const { stdout } = await run('java', [...flags, ...Object.entries(args).map(([name, value]) => `${name}=${value}`)])
  return stdout
}
