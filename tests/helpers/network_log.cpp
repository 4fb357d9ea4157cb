// Preloaded into every process of a test (LD_PRELOAD): writes a line into the file LD_NETWORK_LOG for each process that is started or
// forked, and for each look-up of a name, connection or datagram that leaves the machine, whatever library asks for it, and refuses these:
// nothing leaves. Sockets of the file system, loopback addresses (but for name servers), addresses in digits and "localhost" are not written.

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

template <typename Function>
Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

void log_line(const char *what, const char *where, int port) {
  const char *path = std::getenv("LD_NETWORK_LOG");
  if (path == nullptr) return;
  char line[1024];
  const int size = std::snprintf(line, sizeof line, "%s %s %d\n", what, where, port);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, line, static_cast<size_t>(size) < sizeof line ? size : sizeof line - 1) < 0) std::abort();
  close(file);
}

void log_process() {
  char program[256] = "?";
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) program[length] = 0;
  log_line("started", program, getpid());
}

__attribute__((constructor)) void started() {
  log_process();
  pthread_atfork(nullptr, nullptr, log_process);
}

// Write the name down, and return whether it has to be looked up.
bool is_looked_up(const char *name) {
  unsigned char digits[sizeof(in6_addr)];
  if (name == nullptr || *name == 0 || std::strcmp(name, "localhost") == 0) return false;
  if (inet_pton(AF_INET, name, digits) == 1 || inet_pton(AF_INET6, name, digits) == 1) return false;
  log_line("look-up", name, 0);
  return true;
}

// Write the address down, and return whether it is one of another machine, or of a name server.
bool is_outside(const char *what, const sockaddr *address) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return false;
  char shown[INET6_ADDRSTRLEN] = "";
  int port = 0;
  bool is_here = false;
  if (address->sa_family == AF_INET) {
    const auto *given = reinterpret_cast<const sockaddr_in *>(address);
    const auto host = ntohl(given->sin_addr.s_addr);
    is_here = host >> 24 == 127 || host == 0;
    port = ntohs(given->sin_port);
    inet_ntop(AF_INET, &given->sin_addr, shown, sizeof shown);
  } else {
    const auto *given = reinterpret_cast<const sockaddr_in6 *>(address);
    is_here = IN6_IS_ADDR_LOOPBACK(&given->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&given->sin6_addr);
    port = ntohs(given->sin6_port);
    inet_ntop(AF_INET6, &given->sin6_addr, shown, sizeof shown);
  }
  const int name_server = 53;
  if (is_here && port != name_server) return false;
  log_line(what, shown, port);
  errno = ENETUNREACH;
  return true;
}

}  // namespace

extern "C" {

int getaddrinfo(const char *node, const char *service, const addrinfo *hints, addrinfo **found) {
  if (is_looked_up(node)) return EAI_FAIL;
  return next<decltype(getaddrinfo)>("getaddrinfo")(node, service, hints, found);
}

hostent *gethostbyname(const char *name) {
  return is_looked_up(name) ? nullptr : next<decltype(gethostbyname)>("gethostbyname")(name);
}

hostent *gethostbyname2(const char *name, int family) {
  return is_looked_up(name) ? nullptr : next<decltype(gethostbyname2)>("gethostbyname2")(name, family);
}

int gethostbyname_r(const char *name, hostent *into, char *buffer, size_t size, hostent **found, int *error) {
  if (is_looked_up(name)) return EINVAL;
  return next<decltype(gethostbyname_r)>("gethostbyname_r")(name, into, buffer, size, found, error);
}

int connect(int socket, const sockaddr *address, socklen_t size) {
  return is_outside("connection", address) ? -1 : next<decltype(connect)>("connect")(socket, address, size);
}

ssize_t sendto(int socket, const void *data, size_t bytes, int flags, const sockaddr *address, socklen_t size) {
  return is_outside("datagram", address) ? -1 : next<decltype(sendto)>("sendto")(socket, data, bytes, flags, address, size);
}

ssize_t sendmsg(int socket, const msghdr *message, int flags) {
  const auto *address = static_cast<const sockaddr *>(message->msg_name);
  return is_outside("datagram", address) ? -1 : next<decltype(sendmsg)>("sendmsg")(socket, message, flags);
}

}  // extern "C"
