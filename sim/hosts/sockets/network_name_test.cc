#include "drydock/sim/hosts/sockets/network_name.h"

#include <map>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

std::string Launched(const std::map<std::string, std::string>& environment) {
  const absl::StatusOr<NetworkName> name = NetworkOfLauncher([&](const char* wanted) {
    const auto found = environment.find(wanted);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  return name.ok() ? name->Text() : std::string(absl::StatusCodeToString(name.status().code()));
}

TEST(NetworkNameTest, HasAHostAndAPort) {
  for (const char* text : {"tcp://node1:7471", "tcp://10.0.0.1:1", "tcp://[fe80::1]:65535"}) {
    const absl::StatusOr<NetworkName> name = ParseNetworkName(text);
    ASSERT_TRUE(name.ok()) << name.status();
    EXPECT_EQ(name->Text(), text);
  }
  EXPECT_EQ(ParseNetworkName("tcp://[fe80::1]:2")->host, "fe80::1");
}

TEST(NetworkNameTest, AnythingElseIsNone) {
  for (const char* text : {"", "tcp", "tcp:", "tcp://", "tcp://host", "tcp://:7", "tcp://host:",
                           "tcp://host:0", "tcp://host:65536", "tcp://host:x", "udp://host:7",
                           "tcp://fe80::1:7", "tcp://[host]:7", "tcp://[fe80::1:7", "host:7"}) {
    EXPECT_EQ(ParseNetworkName(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(NetworkNameTest, SlurmNamesTheFirstNodeOfTheStep) {
  const auto of = [](const std::string& nodes) {
    return Launched(
        {{"SLURM_STEP_NODELIST", nodes}, {"SLURM_JOB_ID", "100"}, {"SLURM_STEP_ID", "2"}});
  };
  EXPECT_EQ(of("node"), "tcp://node:23102");
  EXPECT_EQ(of("a,b"), "tcp://a:23102");
  EXPECT_EQ(of("node[08-11,20]"), "tcp://node08:23102");
  EXPECT_EQ(of("node[3,7],x"), "tcp://node3:23102");
  EXPECT_EQ(of("rack[2-3]node[08-11,20],x"), "tcp://rack2node08:23102");
  EXPECT_EQ(of("node[3,7]-efa"), "tcp://node3-efa:23102");
  EXPECT_EQ(of("node[3"), "tcp://node3:23102");
  EXPECT_EQ(of(""), "INVALID_ARGUMENT");
  EXPECT_EQ(Launched({{"SLURM_STEP_NODELIST", "n"}}), "INVALID_ARGUMENT");
}

TEST(NetworkNameTest, OpenMpiNamesThatOfMpirun) {
  EXPECT_EQ(Launched({{"OMPI_MCA_orte_hnp_uri", "65538.0;tcp://10.0.0.1,172.17.0.1:40001"}}),
            "tcp://10.0.0.1:25539");
  EXPECT_EQ(Launched({{"OMPI_MCA_orte_hnp_uri", "nonsense"}}), "INVALID_ARGUMENT");
  EXPECT_EQ(Launched({{"OMPI_MCA_orte_hnp_uri", "1.0;usock"}}), "INVALID_ARGUMENT");
  EXPECT_EQ(Launched({}), "NOT_FOUND");
}

// In a batch job of Slurm some ranks of mpirun see a step, which lacks mpirun's node, and others
// none.
TEST(NetworkNameTest, RanksOfMpirunMeetAtMpirunAlsoInAStepOfSlurm) {
  std::map<std::string, std::string> environment = {
      {"SLURM_STEP_NODELIST", "node2"}, {"SLURM_JOB_ID", "100"}, {"SLURM_STEP_ID", "0"}};
  environment["OMPI_COMM_WORLD_RANK"] = "1";
  EXPECT_EQ(Launched(environment), "NOT_FOUND");
  environment["OMPI_MCA_orte_hnp_uri"] = "65538.0;tcp://10.0.0.1,172.17.0.1:40001";
  EXPECT_EQ(Launched(environment), "tcp://10.0.0.1:25539");
}

// Open MPI 5 starts ranks by PRRTE; srun sets the rank of PMIx, too.
TEST(NetworkNameTest, RanksOfOpenMpiFiveAreToldNothing) {
  std::map<std::string, std::string> environment = {
      {"SLURM_STEP_NODELIST", "node2"}, {"SLURM_JOB_ID", "100"}, {"PMIX_RANK", "1"}};
  EXPECT_EQ(Launched(environment), "tcp://node2:23100");
  environment["PRTE_LAUNCHED"] = "1";
  EXPECT_EQ(Launched(environment), "NOT_FOUND");
}

}  // namespace
}  // namespace drydock::sim
