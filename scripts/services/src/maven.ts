import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { findExecutable } from './process/executable.ts'
import { ServiceError } from './service.ts'

/** The plugin whose goals copy artifacts. */
export const dependencyPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.9.0'

/** A download through Maven. */
export interface MavenRun {
  /** The software and its version, in sentences. */
  readonly title: string
  /** Its size, for the line of progress. */
  readonly size: string
  readonly folder: string
  readonly args: readonly string[]
  readonly progress: (text: string) => void
}

/** Downloads artifacts through the machine's own Maven, with its mirrors and proxies. Throws with Maven's errors. */
export async function runMaven({ title, size, folder, args, progress }: MavenRun): Promise<void> {
  const maven = await findExecutable('mvn')
  if (maven === undefined)
    throw new ServiceError(
      `${title} must be downloaded with Maven, which is not installed on this machine.`,
      'Install it (Debian: apt-get install maven), or use compose.yaml.',
    )
  progress(`downloading ${title} from Maven Central, once (${size})`)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = spawn(maven, ['-B', ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  const errors: string[] = []
  let files = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('Downloaded from') && ++files % 40 === 0) progress(`downloaded ${files} files`)
    if (line.includes('[ERROR]')) errors.push(line.trim())
  })
  child.once('error', reject)
  child.once('close', (code) => {
    if (code === 0) resolve()
    else
      reject(
        new ServiceError(
          `Maven could not download ${title} (exit code ${code}): ${errors.slice(0, 3).join(' ')}`,
          'The first start needs the network; configure a proxy or mirror in ~/.m2/settings.xml.',
        ),
      )
  })
  await promise
}
