import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDownloaded, provideDownload } from '../download.ts'
import { cacheFolder } from '../folder.ts'
import { dependencyPlugin, runMaven } from '../maven.ts'
import { run } from '../process/executable.ts'

/** The version of Apicurio Registry that is started here. */
export const registryVersion = '3.0.9'

/** The jar that starts it. The others are beside it, where its manifest names them. */
export const runnerJar = `apicurio-registry-app-${registryVersion}-runner.jar`

const archive = `apicurio-registry-app-${registryVersion}-all.tar.gz`

/** Returns the folder of the downloaded application. */
export function applicationFolder(): string {
  return join(cacheFolder(), `apicurio-registry-${registryVersion}`)
}

/** Returns true when nothing has to be downloaded. */
export function hasApplication(): Promise<boolean> {
  return isDownloaded({ mainFile: runnerJar }, applicationFolder())
}

/** Returns the folder with the application, downloaded through Maven the first time. */
export function provideApplication(progress: (text: string) => void): Promise<string> {
  return provideDownload({
    folder: applicationFolder(),
    mainFile: runnerJar,
    async fill(folder) {
      const artifact = `io.apicurio:apicurio-registry-app:${registryVersion}:tar.gz:all`
      await runMaven({
        title: `Apicurio Registry ${registryVersion}`,
        size: 'about 110 MB',
        folder,
        args: [`${dependencyPlugin}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`],
        progress,
      })
      await run('tar', ['-xzf', archive], { folder })
      await rm(join(folder, archive))
    },
  })
}
