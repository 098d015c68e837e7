import { render } from 'preact'
import { App } from './app.tsx'
import { startClock } from './state/clock.ts'
import { startKeys } from './state/keys.ts'
import { startLive } from './state/live.ts'
import { startRouter } from './state/router.ts'
import { loadMe } from './state/session.ts'
import { startSettings } from './state/settings.ts'
import { startGlobalKeys } from './view/frame.tsx'

startSettings()
startClock()
startRouter()
startKeys()
startGlobalKeys()
// Its relative address would be resolved again, and wrongly, when the path changes.
for (const icon of document.querySelectorAll<HTMLLinkElement>('link[rel=icon]')) icon.setAttribute('href', icon.href)
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
void loadMe()
startLive()
