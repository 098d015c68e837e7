import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDownloaded, provideDownload } from '../download.ts'
import { cacheFolder } from '../folder.ts'
import { dependencyPlugin, runMaven } from '../maven.ts'

/** The version of Kafka that is started here. */
export const kafkaVersion = '4.3.1'

const mainFile = `kafka_2.13-${kafkaVersion}.jar`

/** Returns the folder of the downloaded jars. */
export function jarFolder(): string {
  return join(cacheFolder(), `kafka-${kafkaVersion}`)
}

/** Returns true when nothing has to be downloaded. */
export function hasJars(): Promise<boolean> {
  return isDownloaded({ mainFile }, jarFolder())
}

/** Returns the folder with Kafka's jars, downloaded through Maven the first time. */
export function provideJars(progress: (text: string) => void): Promise<string> {
  return provideDownload({
    folder: jarFolder(),
    mainFile,
    async fill(folder) {
      await writeFile(join(folder, 'pom.xml'), pom)
      const args = ['-f', 'pom.xml', `${dependencyPlugin}:copy-dependencies`, '-DincludeScope=runtime']
      await runMaven({
        title: `Kafka ${kafkaVersion}`,
        size: 'about 55 MB',
        folder,
        args: [...args, `-DoutputDirectory=${folder}`],
        progress,
      })
      await rm(join(folder, 'pom.xml'))
    },
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
