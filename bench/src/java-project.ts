/** The Java peers: one Maven project, built on first use and after each change, where Java and Maven are present. */

import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const project = join(import.meta.dirname, '..', 'peers', 'java')
const jar = join(project, 'target', 'peers-1.jar')
/** The file that the last step of a build writes. */
const libraries = join(project, 'target', 'lib')

/** Builds the project if necessary. Returns the reason why it cannot be built, or undefined. */
export async function prepareJava(): Promise<string | undefined> {
  if (await isBuilt()) return undefined
  const goals = ['clean', 'package', 'dependency:copy-dependencies', `-DoutputDirectory=${libraries}`]
  try {
    await run('mvn', ['-q', '-B', '-f', join(project, 'pom.xml'), ...goals])
    return undefined
  } catch (error) {
    return `Maven cannot build the Java peers: ${(error as Error).message.split('\n')[0]}`
  }
}

/** Runs one task and returns its output. Rejects with the error output when the task fails. */
export async function runJava(task: string, args: Readonly<Record<string, string | number>>): Promise<string> {
  const java = javaCommand(task, args)
  const { stdout } = await run(java.command, java.args)
  return stdout
}

/** Returns the command of a task, for callers that exchange messages with it. */
export function javaCommand(
  task: string,
  args: Readonly<Record<string, string | number>>,
): { readonly command: string; readonly args: string[] } {
  const flags = ['-Xmx1g', '-Dorg.slf4j.simpleLogger.defaultLogLevel=off', '-cp', `${jar}:${join(libraries, '*')}`]
  const pairs = Object.entries(args).map(([name, value]) => `${name}=${value}`)
  return { command: 'java', args: [...flags, 'peers.Main', task, ...pairs] }
}

async function isBuilt(): Promise<boolean> {
  const builtAt = Math.min(await changedAt(jar), await changedAt(libraries))
  const sources = await readdir(join(project, 'src'), { recursive: true, withFileTypes: true })
  const files = sources.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const changes = await Promise.all([join(project, 'pom.xml'), ...files].map(changedAt))
  return builtAt > Math.max(...changes)
}

/** Returns 0 for a missing file. */
async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch {
    return 0
  }
}
