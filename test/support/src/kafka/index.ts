export { type AdminWorld, type RunInAdminWorld, runOnKafka, runOnSim } from './admin-world.ts'
export { type Interceptor, intercepted, RequestLog } from './intercept.ts'
export { orderEvents } from './order-events.ts'
export { watchRejections } from './watch-rejections.ts'
