import { spawn } from 'node:child_process'
import { copyFile, link, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { cacheFolder } from '../folder.ts'
import { findExecutable } from '../process/executable.ts'
import { ServiceError } from '../service.ts'

/** The version of Kafka that is started here. */
export const kafkaVersion = '4.3.1'

const mainJar = `kafka_2.13-${kafkaVersion}.jar`

/** Returns the folder of the downloaded jars. */
export function jarFolder(): string {
  return join(cacheFolder(), `kafka-${kafkaVersion}`)
}

/** Returns true when nothing has to be downloaded. */
export async function hasJars(folder: string = jarFolder()): Promise<boolean> {
  return (await readdir(folder).catch((): string[] => [])).includes(mainJar)
}

/** Returns the folder with Kafka's jars, downloaded through Maven the first time. */
export async function provideJars(progress: (text: string) => void): Promise<string> {
  const folder = jarFolder()
  if (await hasJars(folder)) return folder
  await mkdir(dirname(folder), { recursive: true })
  const draft = await mkdtemp(`${folder}.part-`)
  try {
    await download(draft, progress)
    await publish(draft, folder)
    return folder
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/**
 * Links the jars into a folder that another user can read: they are in the home folder of this one, which is closed. A link
 * takes no space; between two file systems the jars are copied, about 55 MB.
 */
export async function linkJars(from: string, to: string): Promise<string> {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from)) {
    const [source, target] = [join(from, name), join(to, name)]
    await link(source, target).catch(() => copyFile(source, target))
  }
  return to
}

async function download(folder: string, progress: (text: string) => void): Promise<void> {
  const maven = await findExecutable('mvn')
  if (maven === undefined)
    throw new ServiceError(
      `Kafka ${kafkaVersion} must be downloaded with Maven, which is not installed on this machine.`,
      'Install it (Debian: apt-get install maven), or use compose.yaml.',
    )
  progress(`downloading Kafka ${kafkaVersion} from Maven Central, once (about 55 MB)`)
  await writeFile(join(folder, 'pom.xml'), pom)
  await runMaven(maven, folder, progress)
  await rm(join(folder, 'pom.xml'))
  if (!(await hasJars(folder)))
    throw new ServiceError(`Maven succeeded, but did not download ${mainJar}.`, 'Try again.')
}

/** Moves a complete draft to its final name, so that a folder under that name is always complete. */
async function publish(draft: string, folder: string): Promise<void> {
  try {
    await rename(draft, folder)
  } catch (error) {
    if (!(await hasJars(folder))) throw error // Otherwise another download came first, and is as good.
  }
}

function runMaven(maven: string, folder: string, progress: (text: string) => void): Promise<void> {
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies'
  const args = ['-B', '-f', 'pom.xml', goal, '-DincludeScope=runtime', `-DoutputDirectory=${folder}`]
  return new Promise((resolve, reject) => {
    const child = spawn(maven, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
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
            `Maven could not download Kafka ${kafkaVersion} (exit code ${code}): ${errors.slice(0, 3).join(' ')}`,
            'The first start of Kafka needs the network; configure a proxy or mirror in ~/.m2/settings.xml.',
          ),
        )
    })
  })
}

/**
 * The server, the command-line tools (its storage has to be formatted by one), and two dependencies that the server's
 * jars use without including them: a backend for its log lines, and the interface of its logging controller.
 */
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>waybill</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencyManagement>
    <dependencies>
      ${dependency('org.slf4j', 'slf4j-api', '2.0.17')}
    </dependencies>
  </dependencyManagement>
  <dependencies>
    ${dependency('org.apache.kafka', 'kafka_2.13', kafkaVersion)}
    ${dependency('org.apache.kafka', 'kafka-tools', kafkaVersion)}
    ${dependency('org.slf4j', 'slf4j-simple', '2.0.17')}
    ${dependency('org.apache.logging.log4j', 'log4j-api', '2.25.4')}
  </dependencies>
</project>
`

function dependency(group: string, artifact: string, version: string): string {
  return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`
}
